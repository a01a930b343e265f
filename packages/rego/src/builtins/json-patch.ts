import {
  equal,
  isArray,
  kindOf,
  ObjectBuilder,
  ObjectValue,
  SetBuilder,
  SetValue,
  type Value,
} from '../value/value.ts'
import { formatText, formatValue } from '../value/format.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { CallContext } from './builtin.ts'
import { parsePath } from './json-pointer.ts'

/** RFC 6902, also into sets: a member is its own name. All of the operations, or none. */
export function applyPatches(
  context: CallContext,
  target: Value,
  operations: readonly Value[],
): Value | undefined {
  let patched = target
  for (const operation of operations) {
    if (!(operation instanceof ObjectValue))
      return context.fail(
        'must be an array of JSON-Patch objects, but at least one element is not an object',
      )
    const next = applyOne(context, patched, operation)
    if (!next.ok) return context.fail(next.error)
    patched = next.value
  }
  return patched
}

type Patched = Result<Value, string>
type Path = readonly Value[]

function applyOne(context: CallContext, target: Value, operation: ObjectValue): Patched {
  const path = pathAt(operation, 'path')
  if (!path.ok) return path
  const op = operation.get('op')
  if (op === undefined) return err("missing required attribute 'op'")
  if (typeof op !== 'string') return err(`attribute 'op' must be a string but found: ${kindOf(op)}`)
  switch (op) {
    case 'add':
      return withValue(operation, (value) => put(context, target, { path: path.value, value }))
    case 'remove':
      return take(context, target, path.value)
    case 'replace':
      return withValue(operation, (value) => {
        const rest = take(context, target, path.value)
        return rest.ok ? put(context, rest.value, { path: path.value, value }) : rest
      })
    case 'move':
      return move(context, target, { operation, path: path.value })
    case 'copy': {
      const found = readFrom(target, operation)
      return found.ok ? put(context, target, { path: path.value, value: found.value }) : found
    }
    case 'test':
      return withValue(operation, (value) => {
        const found = read(target, path.value)
        if (!found.ok) return found
        return equal(found.value, value)
          ? ok(target)
          : err(
              `value from EditTree != patch value.\n\nExpected: ${formatValue(value)}\n\nFound: ${formatValue(found.value)}`,
            )
      })
    default:
      return err(`unrecognized op: '${op}'`)
  }
}

function withValue(operation: ObjectValue, apply: (value: Value) => Patched): Patched {
  const value = operation.get('value')
  return value === undefined ? err("missing required attribute 'value'") : apply(value)
}

function pathAt(operation: ObjectValue, name: string): Result<Path, string> {
  const path = operation.get(name)
  if (path === undefined) return err(`missing required attribute '${name}'`)
  const segments = parsePath(path)
  return segments === undefined
    ? err(
        `operand 2 must be one of {set, array} containing string paths or array of path segments but got ${kindOf(path)}`,
      )
    : ok(segments)
}

function readFrom(target: Value, operation: ObjectValue): Patched {
  const from = pathAt(operation, 'from')
  return from.ok ? read(target, from.value) : from
}

function move(
  context: CallContext,
  target: Value,
  { operation, path }: { readonly operation: ObjectValue; readonly path: Path },
): Patched {
  const from = pathAt(operation, 'from')
  if (!from.ok) return from
  const found = read(target, from.value)
  if (!found.ok) return found
  const rest = take(context, target, from.value)
  return rest.ok ? put(context, rest.value, { path, value: found.value }) : rest
}

function read(target: Value, path: Path): Patched {
  let value = target
  for (const segment of path) {
    const found = childAt(value, segment)
    if (found === undefined) return missing(segment)
    value = found
  }
  return ok(value)
}

function missing(segment: Value): Result<never, string> {
  return err(`path ${formatText(segment)} does not exist`)
}

function childAt(value: Value, segment: Value): Value | undefined {
  if (isArray(value)) {
    const at = positionOf(segment, value.length - 1)
    return at === undefined ? undefined : value[at]
  }
  if (value instanceof ObjectValue) return value.get(segment)
  return value instanceof SetValue && value.has(segment) ? segment : undefined
}

/** A whole number, also as text, up to the given one. */
function positionOf(segment: Value, max: number): number | undefined {
  const isText = typeof segment === 'string' && /^(?:0|[1-9][0-9]{0,9})$/.test(segment)
  const at = isText ? Number(segment) : segment
  return typeof at === 'number' && Number.isInteger(at) && at >= 0 && at <= max ? at : undefined
}

interface Placed {
  readonly path: Path
  readonly value: Value
}

function put(context: CallContext, target: Value, { path, value }: Placed): Patched {
  const [segment, ...rest] = path
  if (segment === undefined) return ok(value)
  if (rest.length > 0)
    return changeBelow(context, target, {
      segment,
      change: (child) => put(context, child, { path: rest, value }),
    })
  context.charge(sizeOf(target))
  if (isArray(target)) {
    const at = segment === '-' ? target.length : positionOf(segment, target.length)
    return at === undefined ? missing(segment) : ok(target.toSpliced(at, 0, value))
  }
  if (target instanceof ObjectValue)
    return ok(new ObjectBuilder().setAll(target).set(segment, value).build())
  if (!(target instanceof SetValue)) return missing(segment)
  // The name of a member is the member.
  if (!equal(segment, value)) return err('set key does not equal value to be inserted')
  return ok(new SetBuilder().addAll(target.unordered()).add(value).build())
}

function take(context: CallContext, target: Value, path: Path): Patched {
  const [segment, ...rest] = path
  // The whole document is gone; what is put there next becomes it.
  if (segment === undefined) return ok(null)
  if (rest.length > 0)
    return changeBelow(context, target, {
      segment,
      change: (child) => take(context, child, rest),
    })
  context.charge(sizeOf(target))
  if (childAt(target, segment) === undefined) return missing(segment)
  if (isArray(target)) return ok(target.toSpliced(positionOf(segment, target.length) ?? 0, 1))
  if (target instanceof ObjectValue)
    return ok(new ObjectBuilder().setAll(target).delete(segment).build())
  return target instanceof SetValue
    ? ok(new SetBuilder().addAll(target.unordered()).delete(segment).build())
    : missing(segment)
}

interface Change {
  readonly segment: Value
  readonly change: (child: Value) => Patched
}

function changeBelow(context: CallContext, target: Value, { segment, change }: Change): Patched {
  const child = childAt(target, segment)
  if (child === undefined) return missing(segment)
  const changed = change(child)
  if (!changed.ok) return changed
  context.charge(sizeOf(target))
  if (isArray(target))
    return ok(target.with(positionOf(segment, target.length) ?? 0, changed.value))
  if (target instanceof ObjectValue)
    return ok(new ObjectBuilder().setAll(target).set(segment, changed.value).build())
  return target instanceof SetValue
    ? ok(new SetBuilder().addAll(target.unordered()).delete(segment).add(changed.value).build())
    : missing(segment)
}

function sizeOf(value: Value): number {
  if (isArray(value)) return value.length
  return value instanceof ObjectValue || value instanceof SetValue ? value.size : 0
}
