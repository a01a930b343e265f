import { areEqual } from '../value/equal.ts'
import { floatOf } from '../value/int.ts'
import { keyOf, createMap } from '../value/map.ts'
import {
  isFunction,
  isInt,
  isNumeric,
  ListValue,
  toNumber,
  typeOf,
  type CallContext,
  type Key,
  type MapValue,
  type Value,
} from '../value/value.ts'
import { listArgument, defineVariadic } from './function.ts'

const NO_LIMIT = Number.POSITIVE_INFINITY

/** The import `collection/lists`. */
export function listsImport(): MapValue {
  const difference = defineVariadic('difference', [1, NO_LIMIT], (args, context) =>
    combined(
      args,
      {
        name: 'difference',
        choose: ([first = [], ...others]) =>
          first.filter((item) => !others.some((other) => other.has(item))),
      },
      context,
    ),
  )
  return createMap({
    concat: defineVariadic('concat', [1, NO_LIMIT], (args, context) =>
      kept(
        lists(args, 'concat', context).flatMap(({ items }) => items),
        context,
      ),
    ),
    difference,
    diff: difference,
    intersection: defineVariadic('intersection', [1, NO_LIMIT], (args, context) =>
      combined(
        args,
        {
          name: 'intersection',
          choose: ([first = [], ...others]) =>
            first.filter((item) => others.every((other) => other.has(item))),
        },
        context,
      ),
    ),
    union: defineVariadic('union', [1, NO_LIMIT], (args, context) =>
      kept(
        distinct(
          lists(args, 'union', context).flatMap(({ items }) => items),
          context,
        ),
        context,
      ),
    ),
    sort: defineVariadic('sort', [1, 2], sort),
    sum: defineVariadic('sum', [1, 1], sum),
  })
}

function lists(args: readonly Value[], name: string, context: CallContext): readonly ListValue[] {
  return args.map((_, index) => listArgument(args, { name, index }, context))
}

function kept(items: Value[], context: CallContext): ListValue {
  context.allocate(items.length)
  return new ListValue(items)
}

type Choose = (parts: readonly [Value[]?, ...Members[]]) => Value[]

/** Combines the first list without duplicates with the others as sets. */
function combined(
  args: readonly Value[],
  { name, choose }: { readonly name: string; readonly choose: Choose },
  context: CallContext,
): Value {
  const [first, ...others] = lists(args, name, context)
  const items = distinct(first?.items ?? [], context)
  return kept(choose([items, ...others.map((list) => new Members(list.items, context))]), context)
}

function distinct(items: readonly Value[], context: CallContext): Value[] {
  const seen = new Members([], context)
  return items.filter((item) => {
    if (seen.has(item)) return false
    seen.add(item)
    return true
  })
}

/** A set of values by equality: scalars by key, others by comparison. */
class Members {
  readonly #keys = new Set<Key>()
  readonly #others: Value[] = []
  readonly #context: CallContext

  constructor(items: readonly Value[], context: CallContext) {
    this.#context = context
    for (const item of items) this.add(item)
  }

  add(item: Value): void {
    this.#context.charge(1)
    const key = keyOf(item)
    if (key === undefined) this.#others.push(item)
    else this.#keys.add(key)
  }

  has(item: Value): boolean {
    this.#context.charge(1)
    const key = keyOf(item)
    if (key !== undefined) return this.#keys.has(key)
    const charge = (steps: number) => this.#context.charge(steps + 1)
    return this.#others.some((other) => areEqual(other, item, charge) === true)
  }
}

function sort(args: readonly Value[], context: CallContext): Value {
  const { items } = listArgument(args, { name: 'sort', index: 0 }, context)
  const compare = args[1] ?? null
  if (!isFunction(compare))
    return context.fail(`argument 2 of sort must be func, not ${typeOf(compare)}`)
  const sorted = items.toSorted((left, right) => {
    const order = context.apply(compare, [left, right])
    return isInt(order)
      ? Number(order)
      : context.fail(`the function given to sort must return an int, not ${typeOf(order)}`)
  })
  return kept(sorted, context)
}

function sum(args: readonly Value[], context: CallContext): Value {
  const { items } = listArgument(args, { name: 'sum', index: 0 }, context)
  context.charge(items.length)
  const total = items.reduce<number>(
    (all, item) =>
      isNumeric(item)
        ? all + toNumber(item)
        : context.fail(`sum needs numbers, not ${typeOf(item)}`),
    0,
  )
  return floatOf(total)
}
