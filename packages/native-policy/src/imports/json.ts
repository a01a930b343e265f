import { EMBEDDED_JSON_MEMORY_BYTES_MAX, exactJsonMemoryBytes } from '@reeve/kit/json.ts'
import { CHARACTERS_PER_STEP, STRING_LENGTH_MAX, VALUE_DEPTH_MAX } from '../limits.ts'
import {
  type CallContext,
  Float,
  isMap,
  isRule,
  ListValue,
  type MapValue,
  typeOf,
  Undefined,
  type Value,
} from '../value/value.ts'
import { createMap } from '../value/map.ts'
import { type JsonValue, parseExactJson, plainSize, toLazyValue } from '../value/lazy-map.ts'
import { typed } from './define.ts'

/** The import `json`. */
export function jsonImport(): MapValue {
  return createMap({
    marshal: typed('marshal', ['any'], ([value], context) =>
      value instanceof Undefined ? value : new JsonWriter(context).write(value),
    ),
    unmarshal: typed('unmarshal', ['string'], ([text], context) => {
      const found = parseText(text, context)
      if (found === undefined) return context.fail('unmarshal: the text is no JSON')
      return toLazyValue(found.plain)
    }),
    valid: typed('valid', ['string'], ([text], context) => parseText(text, context) !== undefined),
  })
}

function parseText(text: string, context: CallContext): { plain: JsonValue } | undefined {
  context.charge(1 + Math.ceil(text.length / CHARACTERS_PER_STEP))
  if (exactJsonMemoryBytes(text) > EMBEDDED_JSON_MEMORY_BYTES_MAX)
    context.fail('the JSON has too many values')
  try {
    const plain = parseExactJson(text)
    context.allocate(
      plainSize(plain, VALUE_DEPTH_MAX, () => context.fail('the JSON is nested too deep')),
    )
    return { plain }
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

/** Writes JSON with sorted keys. Undefined members are omitted; functions are errors. */
class JsonWriter {
  readonly #context: CallContext

  constructor(context: CallContext) {
    this.#context = context
  }

  write(value: Value, depth = 0): string {
    if (depth > VALUE_DEPTH_MAX) this.#context.fail('marshal: the value is nested too deep')
    if (value instanceof ListValue) {
      const items = value.items.filter((item) => !(item instanceof Undefined))
      return this.#made(`[${items.map((item) => this.write(item, depth + 1)).join(',')}]`)
    }
    if (isMap(value)) return this.#made(`{${this.#members(value, depth).join(',')}}`)
    if (isRule(value)) return this.write(value.force(), depth)
    return this.#made(this.#scalar(value))
  }

  #members(map: MapValue, depth: number): readonly string[] {
    return map.keys().flatMap((key) => {
      const value = map.get(key) ?? null
      return value instanceof Undefined
        ? []
        : [`${JSON.stringify(String(key))}:${this.write(value, depth + 1)}`]
    })
  }

  #scalar(value: Value): string {
    if (value === null) return 'null'
    if (typeof value === 'string') return JSON.stringify(value)
    if (value instanceof Float) return String(value.value)
    if (typeof value === 'object')
      return this.#context.fail(`marshal cannot make JSON of ${typeOf(value)}`)
    return String(value)
  }

  #made(text: string): string {
    if (text.length > STRING_LENGTH_MAX) this.#context.fail('marshal: the text is too long')
    this.#context.charge(1 + Math.ceil(text.length / CHARACTERS_PER_STEP))
    return text
  }
}
