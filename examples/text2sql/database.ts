/** A small shop in a real SQL engine (SQLite, inside of Node): what the drafts are tried against. */
import { DatabaseSync } from "node:sqlite";

const SCHEMA = `
  create table customers (id integer primary key, name text, city text);
  create table products (id integer primary key, name text, price real, category text);
  create table orders (
    id integer primary key, customer_id integer references customers, placed_on text
  );
  create table order_items (
    order_id integer references orders, product_id integer references products, quantity integer
  );
`;

const CITIES = ["Oslo", "Porto", "Graz", "Turku"];
const CATEGORIES = ["lamps", "cables", "books"];

export type Attempt =
  | { readonly kind: "rows"; readonly rows: readonly Readonly<Record<string, unknown>>[] }
  | { readonly kind: "error"; readonly message: string };

export class Shop implements Disposable {
  readonly #database = new DatabaseSync(":memory:");

  constructor() {
    this.#database.exec(SCHEMA);
    const insert = (table: string, row: readonly (string | number)[]): void => {
      const marks = row.map(() => "?").join(", ");
      this.#database.prepare(`insert into ${table} values (${marks})`).run(...row);
    };
    for (let id = 1; id <= 40; id += 1) {
      insert("customers", [id, `Customer ${id}`, CITIES[id % CITIES.length] ?? ""]);
      insert("products", [id, `Product ${id}`, 3 + ((id * 7) % 40), CATEGORIES[id % 3] ?? ""]);
    }
    for (let id = 1; id <= 300; id += 1) {
      const month = String(1 + (id % 12)).padStart(2, "0");
      insert("orders", [id, 1 + ((id * 13) % 40), `2026-${month}-15`]);
      insert("order_items", [id, 1 + ((id * 11) % 40), 1 + (id % 5)]);
    }
  }

  /** The schema as a model would be shown it. */
  get schema(): string {
    return SCHEMA.trim();
  }

  /** Runs a draft; an error is what the next revision is told. */
  attempt(sql: string): Attempt {
    try {
      return { kind: "rows", rows: this.#database.prepare(sql).all() };
    } catch (error) {
      return { kind: "error", message: error instanceof Error ? error.message : String(error) };
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
