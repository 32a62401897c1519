/** Request-log templates: stock's default, the forms that real ones use, and what is refused. */
import { describe, expect, it } from "vitest";
import { compileTemplate, printValue } from "../../../common/log-template.ts";
import type { TemplateValue } from "../../../common/log-template.ts";

const DATA: TemplateValue = {
  Request: {
    Method: "GET",
    RequestURI: "/echo?ms=50",
    ContentLength: 0,
    UserAgent: () => 'curl/7.88.1 "x"',
    RemoteAddr: "127.0.0.1:38824",
    Referer: () => "",
    Proto: "HTTP/1.1",
    TLS: null,
    Header: { "X-A": ["1", "2"], Get: (name) => (name === "X-A" ? "1" : "") },
  },
  Response: { Code: 200, Size: 223, Latency: 0.051770959 },
  Revision: { Name: "r", PodIP: "10.0.0.1" },
  TraceID: "0af7",
};

const STOCK =
  '{"httpRequest": {"requestMethod": "{{.Request.Method}}", "requestUrl": "{{js .Request.RequestURI}}", ' +
  '"requestSize": "{{.Request.ContentLength}}", "status": {{.Response.Code}}, "responseSize": "{{.Response.Size}}", ' +
  '"userAgent": "{{js .Request.UserAgent}}", "remoteIp": "{{js .Request.RemoteAddr}}", "serverIp": "{{.Revision.PodIP}}", ' +
  '"referer": "{{js .Request.Referer}}", "latency": "{{.Response.Latency}}s", "protocol": "{{.Request.Proto}}"}, ' +
  '"traceId": "{{.TraceID}}"}';

describe("a request-log template", () => {
  it("writes what stock's default writes", () => {
    const line = compileTemplate(STOCK)(DATA);
    expect(line).toContain('"requestUrl": "/echo?ms\\u003D50"');
    expect(line).toContain('"latency": "0.051770959s"');
    expect(line).toContain('"userAgent": "curl/7.88.1 \\"x\\""');
    expect(line).toMatch(/"traceId": "0af7"\}$/);
  });

  it.each([
    ["{{.Request.Method | js}}", "GET"],
    ["{{ index .Request.Header `X-A` }}", "[1 2]"],
    ['{{index .Request.Header "X-A" 1}}', "2"],
    ['{{index .Request.Header "X-B"}}', "[]"],
    ['{{.Request.Header.Get "X-A"}}', "1"],
    ["TLS: {{.Request.TLS}}", "TLS: <nil>"],
    ["{{if .Request.TLS}}yes{{else}}no{{end}}", "no"],
    ["{{if eq .Response.Code 404}}a{{else if eq .Response.Code 200}}b{{else}}c{{end}}", "b"],
    ["{{if and .TraceID (not .Request.TLS)}}x{{end}}", "x"],
    ["{{or .Request.Referer .Request.Method}}", "GET"],
    [
      '{{printf "%s-%d %.2f %q%%" .Request.Method .Response.Code .Response.Latency "q"}}',
      'GET-200 0.05 "q"%',
    ],
    ["a {{- .TraceID -}} b", "a0af7b"],
    ["{{/* nothing */}}{{len .Request.Method}}", "3"],
    ['{{html "<a>"}} {{urlquery "a b"}}', "&lt;a&gt; a%20b"],
  ])("%s gives %s", (template, expected) => {
    expect(compileTemplate(template)(DATA)).toBe(expected);
  });

  it.each([
    "{{.A",
    "{{nosuch .A}}",
    "{{if .A}}",
    "{{end}}",
    "{{range .A}}{{end}}",
    "{{(.A}}",
    "{{}}",
  ])("%s is refused or plain text, and nothing worse", (template) => {
    if (template === "{{.A") expect(compileTemplate(template)(DATA)).toBe("{{.A");
    else expect(() => compileTemplate(template)).toThrow();
  });

  it("says which field there is not", () => {
    expect(() => compileTemplate("{{.Request.Nope}}")(DATA)).toThrow("can't evaluate field Nope");
  });

  it.each([
    [0.00005, "5e-05"],
    [1.5, "1.5"],
    [null, "<nil>"],
    [true, "true"],
  ])("prints %s as Go does", (value, text) => expect(printValue(value)).toBe(text));
});
