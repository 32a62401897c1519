/** Files to objects for a cluster: services word for word, everything else named and left alone. */
import { describe, expect, it } from "vitest";
import { parseObjects } from "../../../local/service-objects.ts";

const SERVICE = "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: { name: ocr }\n";

describe("objects of a service file", () => {
  it("are the services, with what only a cluster understands", () => {
    const { objects, errors } = parseObjects("a.yaml", `${SERVICE}spec: { unknown: [1] }\n`);
    expect(errors).toEqual([]);
    expect(objects).toMatchObject([
      { file: "a.yaml", line: 1, object: { metadata: { name: "ocr" }, spec: { unknown: [1] } } },
    ]);
  });

  it.each([
    { name: "another kind", text: "apiVersion: v1\nkind: Secret\nmetadata: { name: x }\n" },
    { name: "a service without a name", text: SERVICE.replace("{ name: ocr }", "{}") },
    { name: "a text", text: "hello\n" },
  ])("leave $name alone and say so, with the line", ({ text }) => {
    const { objects, errors } = parseObjects("a.yaml", `${SERVICE}---\n${text}`);
    expect(objects).toHaveLength(1);
    expect(errors).toEqual([
      "a.yaml:5: no Service of serving.knative.dev/v1 with a name; left alone",
    ]);
  });

  it("name the line of what is no YAML, and go on behind it", () => {
    const { objects, errors } = parseObjects("a.yaml", `a: [\n---\n${SERVICE}`);
    expect(objects.length + errors.length).toBeGreaterThan(0);
    expect(errors[0]).toMatch(/^a\.yaml:\d+: /);
  });

  it("are none in an empty file", () => {
    expect(parseObjects("a.yaml", "# nothing\n")).toEqual({ objects: [], errors: [] });
  });
});
