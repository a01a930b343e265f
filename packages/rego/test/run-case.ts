import {
  BUILTINS,
  compileRego,
  fromJson,
  ObjectValue,
  objectOf,
  toJson,
  type Bindings,
  type Builtin,
  type JsonValue,
  type PreparedQuery,
  type Value,
} from '../src/index.ts'
import { nodeCrypto } from '@reeve/kit/test/node-crypto.ts'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import type { YamlValue } from '@reeve/kit/yaml/index.ts'
import { listOf, textOf, type RegoCase } from './cases.ts'

const offsetAt = createTimeZoneOffset()

/** The cases call a builtin that only their own runner has. */
const SLEEP: Builtin = {
  name: 'test.sleep',
  operands: ['string'],
  result: 'null',
  isRelation: false,
  isDeprecated: false,
  call: () => null,
}
const WITH_SLEEP = new Map([...BUILTINS, [SLEEP.name, SLEEP]])

/** Returns the mismatch of a case; undefined if it passes. */
export function runCase(item: RegoCase, version: 0 | 1): string | undefined {
  const { fields } = item
  const compiled = compileRego({
    modules: item.modules.map((text, at) => ({ file: `test-${at}.rego`, text })),
    version,
    builtins: WITH_SLEEP,
  })
  if (!compiled.ok) {
    const [first] = compiled.error
    return `${first?.code}: ${first?.message} (${first?.location.row}:${first?.location.column})`
  }
  const query = compiled.value.prepareQuery(item.query)
  if (!query.ok) return `query: ${query.error.code}: ${query.error.message}`
  const input = readInput(fields)
  if ('problem' in input) return input.problem
  const data = fromJson(fields['data'] ?? {})
  const result = query.value.evaluate({
    input: input.value,
    data: data instanceof ObjectValue ? data : objectOf([]),
    strictBuiltinErrors: fields['strict_error'] === true,
    nowNs: 1_800_000_000_000_000_000n,
    random: () => 0.25,
    zoneOffset: offsetAt,
    crypto: nodeCrypto,
  })
  return judge(fields, result)
}

function readInput(
  fields: RegoCase['fields'],
): { readonly value: Value | undefined } | { readonly problem: string } {
  const term = fields['input_term']
  if (term === undefined)
    return { value: fields['input'] === undefined ? undefined : fromJson(fields['input']) }
  const compiled = compileRego({ modules: [], version: 1 })
  if (!compiled.ok) return { problem: 'the input term cannot be read' }
  const document = compiled.value.prepareDocument(textOf(term))
  if (!document.ok) return { problem: `input term: ${document.error.message}` }
  const value = document.value.evaluate({})
  return value.ok ? { value: value.value } : { problem: value.error.message }
}

function judge(
  fields: RegoCase['fields'],
  result: ReturnType<PreparedQuery['evaluate']>,
): string | undefined {
  const code = fields['want_error_code']
  const message = fields['want_error']
  if (!result.ok) {
    const { code: found, location } = result.error
    const place = location === undefined ? '' : `${location.file}:${location.row}: `
    const got = `${place}${found}: ${result.error.message}`
    if (code === undefined && message === undefined) return got
    if (code !== undefined && code !== found) return `${got}, wanted ${textOf(code)}`
    return typeof message === 'string' && !got.includes(message)
      ? `${got}, wanted ${message}`
      : undefined
  }
  if (code !== undefined || message !== undefined)
    return `no error, wanted ${textOf(code)}: ${textOf(message)}`
  if (fields['want_defined'] !== undefined)
    return fields['want_defined'] === result.value.length > 0 ? undefined : 'defined'
  const isSorted = fields['sort_bindings'] === true
  const isPlainOnly = fields['ignore_generated_vars'] === true
  const wanted = listOf(fields['want_result'])
    .map((row) => canonical(row, isSorted))
    .toSorted()
  const got = result.value.map((row) => canonical(plainRow(row, isPlainOnly), isSorted)).toSorted()
  return JSON.stringify(got) === JSON.stringify(wanted)
    ? undefined
    : `got ${got.join(' ')}, wanted ${wanted.join(' ')}`
}

function plainRow(row: Bindings, isPlainOnly: boolean): JsonValue {
  const entries = [...row].filter(([name]) => !isPlainOnly || !name.startsWith('__local'))
  return Object.fromEntries(entries.map(([name, value]) => [name, toJson(value)]))
}

/** Text in which equal results are equal: keys in order, numbers as doubles. */
function canonical(value: JsonValue | YamlValue, isSorted: boolean): string {
  if (Array.isArray(value)) {
    const items = value.map((item) => canonical(item, isSorted))
    return `[${(isSorted ? items.toSorted() : items).join(',')}]`
  }
  if (typeof value === 'object' && value !== null) {
    // Neither a list nor null nor a scalar is left.
    const entries = Object.entries(value as Readonly<Record<string, JsonValue>>).map(
      ([key, item]) => `${JSON.stringify(key)}:${canonical(item, isSorted)}`,
    )
    return `{${entries.toSorted().join(',')}}`
  }
  if (typeof value === 'bigint') return String(Number(value))
  return JSON.stringify(value) ?? 'null'
}
