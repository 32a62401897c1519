/**
 * Questions and the drafts that a model would write for them, one after the other: the simulated
 * model has no SQL of its own. Faulty ones are there for the correction loop, and fail for real.
 */

export interface Question {
  readonly text: string;
  /** First drafts, written side by side. */
  readonly candidates: readonly string[];
  /** What each revision makes of the best draft so far. */
  readonly revisions: readonly string[];
}

const REVENUE = `select sum(p.price * i.quantity) as revenue
  from order_items i join products p on p.id = i.product_id`;

export const QUESTIONS: readonly Question[] = [
  {
    text: "How many customers live in Oslo?",
    candidates: [
      "select count(*) from customers where city = 'Oslo'",
      "select count(id) as customers from customers where city = 'Oslo'",
    ],
    revisions: [],
  },
  {
    text: "What was the revenue of lamps?",
    candidates: [
      `${REVENUE} where p.kind = 'lamps'`,
      `select sum(price * quantity) from products where category = 'lamps'`,
    ],
    revisions: [`${REVENUE} where p.category = 'lamps'`],
  },
  {
    text: "Who placed the most orders in March?",
    candidates: [
      "select name, count(*) from orders where month(placed_on) = 3 group by name",
      "select customer, count(*) as n from orders group by customer order by n desc limit 1",
    ],
    revisions: [
      `select c.name, count(*) as n from orders o join customers c on c.id = o.customer
       where o.placed_on like '2026-03%' group by c.id order by n desc limit 1`,
      `select c.name, count(*) as n from orders o join customers c on c.id = o.customer_id
       where o.placed_on like '2026-03%' group by c.id order by n desc, c.id limit 1`,
    ],
  },
  {
    text: "Which product sells best in Porto?",
    candidates: [
      `select p.name from products p join orders o on o.product_id = p.id
       join customers c on c.id = o.customer_id where c.city = 'Porto'`,
      "select product from sales where city = 'Porto' order by amount desc",
    ],
    revisions: [
      `select p.name, sum(i.amount) as n from order_items i join products p on p.id = i.product_id
       join orders o on o.id = i.order_id join customers c on c.id = o.customer_id
       where c.city = 'Porto' group by p.id order by n desc limit 1`,
      `select p.name, sum(i.quantity) as n from order_items i join product p on p.id = i.product_id
       join orders o on o.id = i.order_id join customers c on c.id = o.customer_id
       where c.city = 'Porto' group by p.id order by n desc limit 1`,
      `select p.name, sum(i.quantity) as n from order_items i join products p on p.id = i.product_id
       join orders o on o.id = i.order_id join customers c on c.id = o.customer_id
       where c.city = 'Porto' group by p.id order by n desc, p.id limit 1`,
    ],
  },
];
