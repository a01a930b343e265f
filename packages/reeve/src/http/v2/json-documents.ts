import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceAliases } from '../../compat/index.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { findJsonErrorPosition, parseJsonStrict } from '../json-body.ts'
import type { Validated, Validator } from './body-validation.ts'

const NO_MEMBER_ALIASES: MemberNames = { members: {}, nested: [], values: {}, policyKinds: {} }

/** Parses a JSON:API document and validates it by the schema of its route. */
export function readDocument(
  validate: Validator,
  bytes: Buffer,
  aliases: MemberNames = NO_MEMBER_ALIASES,
): Result<Validated, GovernanceRefusal> {
  const parsed = parseJson(bytes)
  return parsed.ok ? ok(validate(canonicalMembers(parsed.value, aliases))) : parsed
}

/** An empty body is null: routes whose body is optional accept it, the others reject it. */
function parseJson(bytes: Buffer): Result<unknown, GovernanceRefusal> {
  const text = bytes.toString('utf8')
  if (text.trim() === '') return ok(null)
  try {
    return ok(parseJsonStrict(text))
  } catch (thrown) {
    const problem = thrown instanceof SyntaxError ? describeJsonError(text) : errorMessage(thrown)
    return err({ code: 'malformed', detail: `The body is not JSON: ${problem}` })
  }
}

/** Names the byte at which the text is not JSON. */
function describeJsonError(text: string): string {
  const position = findJsonErrorPosition(text)
  const byte = Buffer.byteLength(text.slice(0, position))
  if (position >= text.length) return `it ends unexpectedly at byte ${byte}`
  return `${JSON.stringify(String.fromCodePoint(text.codePointAt(position) ?? 0))} is not allowed at byte ${byte}`
}

export type MemberNames = Pick<GovernanceAliases, 'members' | 'nested' | 'values' | 'policyKinds'>

export type ResponseNames = Pick<GovernanceAliases, 'memberHeaders' | 'nested' | 'responseMembers'>

/** Adds the names that a client reads to the resources of a response, if it is such a client. */
export function withClientMembers(
  document: object,
  headers: Readonly<Record<string, unknown>>,
  names: ResponseNames,
): object {
  const isClient = names.memberHeaders.some(({ name, prefix }) => {
    const value = headers[name]
    return typeof value === 'string' && value.startsWith(prefix)
  })
  if (!isClient) return document
  const withAliases = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withAliases)
    if (!isObject(value) || !isObject(value['attributes'])) return value
    return { ...value, attributes: withBothNames(value['attributes'], names) }
  }
  return Object.fromEntries(
    Object.entries(document).map(([name, value]: [string, unknown]) => [
      name,
      name === 'data' || name === 'included' ? withAliases(value) : value,
    ]),
  )
}

function withBothNames(
  members: Readonly<Record<string, unknown>>,
  { nested, responseMembers }: ResponseNames,
): Readonly<Record<string, unknown>> {
  const added = Object.entries(responseMembers).flatMap(([own, { name, nullValue }]) =>
    Object.hasOwn(members, own) ? [[name, members[own] ?? nullValue] as const] : [],
  )
  const objects = nested.flatMap((name) => {
    const value = members[name]
    if (!isObject(value)) return []
    return [
      [name, withBothNames(value, { nested: [], memberHeaders: [], responseMembers })] as const,
    ]
  })
  return { ...members, ...Object.fromEntries([...added, ...objects]) }
}

/** Replaces aliases of attributes and of their values in a request. */
export function canonicalMembers(document: unknown, aliases: MemberNames): unknown {
  if (isEmpty(aliases) || !isObject(document)) return document
  const { data } = document
  if (Array.isArray(data))
    return { ...document, data: data.map((one) => canonicalResource(one, aliases)) }
  return isObject(data) ? { ...document, data: canonicalResource(data, aliases) } : document
}

function canonicalResource(resource: unknown, aliases: MemberNames): unknown {
  if (!isObject(resource) || !isObject(resource['attributes'])) return resource
  return { ...resource, attributes: knownAttributes(resource['attributes'], aliases) }
}

function knownAttributes(
  attributes: Readonly<Record<string, unknown>>,
  aliases: MemberNames,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(attributes)
  const names = new Set(entries.map(([name]) => name))
  const known = entries.map(([name, value]): [string, unknown] => {
    if (aliases.nested.includes(name) && isObject(value))
      return [name, knownAttributes(value, { ...aliases, nested: [] })]
    const own = canonicalMember(aliases.members, name)
    // If both names are sent, the alias is ignored.
    const isCanonical = own === undefined || names.has(own)
    return isCanonical ? [name, canonicalValue(aliases, name, value)] : [own, value]
  })
  return Object.fromEntries(known)
}

function canonicalMember(members: MemberNames['members'], name: string): string | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function canonicalValue(
  { values, policyKinds }: MemberNames,
  name: string,
  value: unknown,
): unknown {
  if (name === 'enforce' && Array.isArray(value))
    return value.map((entry) => withCanonicalFile(entry, policyKinds))
  const aliasesOfValue = Object.hasOwn(values, name) ? values[name] : undefined
  if (aliasesOfValue === undefined || typeof value !== 'string') return value
  return Object.hasOwn(aliasesOfValue, value) ? aliasesOfValue[value] : value
}

/** An entry of `enforce` names the policy's file, whose suffix is its kind. */
function withCanonicalFile(entry: unknown, kinds: MemberNames['policyKinds']): unknown {
  if (!isObject(entry) || typeof entry['path'] !== 'string') return entry
  const { path } = entry
  const alias = Object.keys(kinds).find((kind) => path.endsWith(`.${kind}`))
  if (alias === undefined) return entry
  return { ...entry, path: `${path.slice(0, -alias.length)}${kinds[alias]}` }
}

function isEmpty({ members, values, policyKinds }: MemberNames): boolean {
  return [members, values, policyKinds].every((names) => Object.keys(names).length === 0)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
