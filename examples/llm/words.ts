/**
 * The text of the simulated model: it says what it is, repeats the question, and goes on with
 * sentences about Pilotlight. The same prompt gives the same answer.
 */

const SENTENCES = [
  "While nobody asks, this service runs no pod at all and costs nothing.",
  "Your request found the queue empty, so a pod was started for it and it waited in its place.",
  "A slot on a card is taken in one atomic step, so two requests never share it.",
  "When the last request has ended and the cooldown is over, the pod leaves again.",
  "A slow card is given less work than a fast one, by its measured speed.",
  "If a pod stops answering, it is quarantined and the request goes to another one.",
  "Each answer carries a Server-Timing header that tells where its time went.",
];

const QUOTED_LETTERS = 80;

export function answerTo(prompt: string): string {
  const question = prompt.trim().replaceAll(/\s+/g, " ").slice(0, QUOTED_LETTERS);
  const first = hash(prompt) % SENTENCES.length;
  const turned = [...SENTENCES.slice(first), ...SENTENCES.slice(0, first)];
  return [
    `This is a simulated model, so here is a prepared answer to "${question}".`,
    ...turned.slice(0, 3),
  ].join(" ");
}

/** About four letters a token, as English text has with common tokenizers. */
export function countTokens(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}

/** Pieces of up to six letters, each with the space before it; joined they are the text. */
export function splitTokens(text: string): string[] {
  return text.match(/\s*\S{1,6}/g) ?? [];
}

function hash(text: string): number {
  let value = 0;
  for (const letter of text) value = (Math.imul(value, 31) + (letter.codePointAt(0) ?? 0)) >>> 0;
  return value;
}
