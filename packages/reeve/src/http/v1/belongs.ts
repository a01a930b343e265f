import type { IncomingMessage } from 'node:http'
import { GLOBAL_REGION } from '@reeve/contract'
import type { Store } from '../../state/index.ts'
import { fieldOf, textOf } from '../json-field.ts'
import type { RawQuery } from '../query.ts'
import type { RegionGate, RegionRoute } from '../region-gate.ts'

/** A request whose address does not say where it belongs. */
export interface RegionQuestion {
  readonly raw: IncomingMessage
  readonly params: Readonly<Record<string, string>>
  readonly query: RawQuery
  /** Its JSON; undefined when it has none that can be read. */
  readonly body: () => unknown
}

/** Where it is answered. Asked before the caller is known: its token may be of another region. */
export type Belongs = (gate: RegionGate, question: RegionQuestion) => RegionRoute

const HERE: RegionRoute = { kind: 'here' }

/**
 * Reference §1.6, job register and plan: the query's region, which was looked at already, then the
 * body's, then the job's. A multi-region job is taken in by a region that it lists.
 */
export const jobBelongs: Belongs = (gate, { raw, query, body }) => {
  if (gate.hopOf(raw) !== undefined || (query['region'] ?? '') !== '') return HERE
  const request = body()
  const job = fieldOf(request, 'Job')
  const named = textOf(fieldOf(request, 'Region')) || textOf(fieldOf(job, 'Region'))
  if (named !== '' && named !== GLOBAL_REGION) return passTo(gate, named)
  const regions: unknown = fieldOf(fieldOf(job, 'Multiregion'), 'Regions')
  if (!Array.isArray(regions) || regions.length === 0) return HERE
  const listed = regions.map((region) => textOf(fieldOf(region, 'Name')))
  if (listed.some((name) => gate.names.includes(name) && !gate.isOther(name))) return HERE
  return passTo(gate, listed.find((name) => gate.isOther(name)) ?? '')
}

/** One that nobody knows stays here: the use case refuses it. */
function passTo(gate: RegionGate, region: string): RegionRoute {
  return gate.isOther(region) ? { kind: 'pass', region, hop: 'named' } : HERE
}

/** Spec W, Create token: global tokens are forwarded to the authoritative region. */
export const newTokenBelongs: Belongs = (gate, { raw, body }) =>
  fieldOf(body(), 'Global') === true ? gate.routeToAuthority(raw) : HERE

/**
 * A stored token is written where it lives. One that is not known here may be a global one whose
 * copy has not arrived yet.
 */
export function tokenBelongs({ tables }: Store): Belongs {
  return (gate, { raw, params }) => {
    const row = tables.acl_tokens.find((params['accessor_id'] ?? '').toLowerCase())
    return row === undefined || row.Global ? gate.routeToAuthority(raw) : HERE
  }
}
