/** docs/reference/events.md against the types and shapes of the events, in both directions. */
import { describe, expect, it } from "vitest";
import { EVENT_SOURCE, SCALING_EVENTS } from "../../../common/contracts/events.ts";
import { toCloudEvent } from "../../../foundation/events.ts";
import { readPage, rowsOf, sectionOf } from "./tables.ts";

const page = readPage("events.md");

describe("docs/reference/events.md", () => {
  it("has a section for exactly the types", () => {
    const headings = [...page.matchAll(/^## (.*)$/gm)].map((match) => match[1]);
    expect(headings).toEqual(Object.keys(SCALING_EVENTS));
  });

  describe.each(Object.entries(SCALING_EVENTS))("%s", (type, { when, data }) => {
    const section = sectionOf(page, type);
    const example: unknown = JSON.parse(/```json\n([^`]*)```/.exec(section)?.[1] ?? "null");

    it("says when it is sent, and names exactly its fields with their types", () => {
      expect(section).toContain(`\n${when}\n`);
      const documented = rowsOf(page, type).map(([name, kind]) => [name, kind]);
      expect(documented).toEqual(Object.entries(data));
    });

    it("shows an example of that shape, with the attributes of a real event", () => {
      const sent = toCloudEvent(EVENT_SOURCE, { type, subject: "default/ocr-00001", at: 0, data });
      // As on the wire: what is undefined is not there.
      const attributes = Object.keys(JSON.parse(JSON.stringify(sent)) as object);
      expect(Object.keys(example as object).toSorted()).toEqual(attributes.toSorted());
      expect(example).toMatchObject({ type, source: sent.source, subject: sent.subject });
      const fields = Object.entries((example as { data: object }).data);
      expect(fields.map(([name, value]) => [name, typeof value])).toEqual(Object.entries(data));
    });
  });
});
