/** What the headers of a message, request or response, say of its length (RFC 9112 6). */
import { isHeaderName } from "../common/header-names.ts";

/** Last value and number of `Content-Length` and of `Transfer-Encoding`; empty for none. */
export interface FramingMarks {
  length: string;
  lengths: number;
  coding: string;
  codings: number;
}

/** Takes one header in; one of another name changes nothing. */
export function markFraming(marks: FramingMarks, name: string, value: string): void {
  if (isHeaderName(name, "content-length")) {
    marks.length = value;
    marks.lengths += 1;
  } else if (isHeaderName(name, "transfer-encoding")) {
    marks.coding = value;
    marks.codings += 1;
  }
}
