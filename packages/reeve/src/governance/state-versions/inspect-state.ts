// tidy-allow vendor: the state file has this name for the version of the tool
import { createHash } from 'node:crypto'
import { v2 } from '@reeve/contract'
import { exactJsonMemoryBytes, parseExactJson } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS } from '../../model/index.ts'

/** An output as in the state. */
export interface StateOutput {
  readonly name: string
  readonly sensitive: boolean
  readonly detailedType: unknown
  readonly value: unknown
}

/** Parts of a state that are stored in addition to its bytes. */
export interface StateDigest {
  readonly outputs: readonly StateOutput[]
  readonly resources: readonly v2.StateResource[]
}

/** A parsed state. */
export interface InspectedState {
  readonly md5: string
  readonly serial: number
  readonly lineage: string | null
  readonly format: number
  readonly toolVersion: string | null
  readonly resourceCount: number
  /** A StateDigest as JSON; numbers are as in the state. */
  readonly digest: Uint8Array
}

type JsonObject = Readonly<Record<string, unknown>>

/**
 * Parses a state file of format 4, or returns why it is invalid. A large one takes a second, so it
 * is parsed on a thread.
 */
export function inspectState(bytes: Uint8Array): Result<InspectedState, string> {
  const md5 = createHash('md5').update(bytes).digest('hex')
  const state = parseState(bytes)
  if (!state.ok) return state
  const { version, serial, lineage, terraform_version: toolVersion } = state.value
  if (version !== STATE_FORMAT)
    return err(`The state has the format ${JSON.stringify(version)}; format 4 is expected`)
  if (typeof serial !== 'number' || !Number.isSafeInteger(serial) || serial < 0)
    return err('The state has no serial that is a whole number')
  const managedResources = asList(state.value['resources']).flatMap(toResources)
  const outputs = toOutputs(asObject(state.value['outputs']))
  if (outputs.length > v2.STATE_OUTPUTS_MAX)
    return err(`The state has ${outputs.length} outputs; at most ${v2.STATE_OUTPUTS_MAX} are kept`)
  const digest: StateDigest = {
    outputs,
    resources: managedResources.slice(0, v2.STATE_RESOURCES_SHOWN_MAX),
  }
  return ok({
    md5,
    serial,
    lineage: typeof lineage === 'string' && lineage !== '' ? lineage : null,
    format: STATE_FORMAT,
    toolVersion: typeof toolVersion === 'string' ? toolVersion : null,
    resourceCount: managedResources.reduce((sum, { count }) => sum + count, 0),
    digest: new TextEncoder().encode(JSON.stringify(digest)),
  })
}

const STATE_FORMAT = 4

const MEMORY_BYTES_MAX = LIMITS.stateReadMegabytesMax * 1024 * 1024 * LIMITS.stateReadMemoryShare

function parseState(bytes: Uint8Array): Result<JsonObject, string> {
  if (exactJsonMemoryBytes(bytes) > MEMORY_BYTES_MAX)
    return err(
      'The state has more values than can be read with ' +
        `${LIMITS.stateReadMegabytesMax} MB of memory`,
    )
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const value = asObject(parseExactJson(text))
    return value === undefined ? err('The state is not a JSON object') : ok(value)
  } catch (thrown) {
    // Invalid UTF-8 is a TypeError, invalid JSON a SyntaxError.
    if (!(thrown instanceof TypeError || thrown instanceof SyntaxError)) throw thrown
    return err(`The state is not JSON: ${thrown.message}`)
  }
}

function toOutputs(outputs: JsonObject | undefined): readonly StateOutput[] {
  return Object.entries(outputs ?? {}).map(([name, output]) => {
    const { sensitive, type, value } = asObject(output) ?? {}
    return { name, sensitive: sensitive === true, detailedType: type ?? null, value: value ?? null }
  })
}

/** Data sources are not managed, so they are not resources of the workspace. */
function toResources(resource: unknown): readonly v2.StateResource[] {
  const { mode, type, name, module, provider, instances } = asObject(resource) ?? {}
  if (mode !== 'managed' || typeof type !== 'string' || typeof name !== 'string') return []
  return [
    {
      name,
      type,
      module: typeof module === 'string' ? module.replace(/^module\./, '') : 'root',
      provider: typeof provider === 'string' ? provider : '',
      count: asList(instances).length,
    },
  ]
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function asObject(value: unknown): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  // An object that is not an array has named members.
  return value as JsonObject
}
