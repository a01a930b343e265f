import {
  AckMessage,
  DesiredMessage,
  FactsMessage,
  HeartbeatReply,
  NoDataMessage,
  OpenMessage,
  RequestMessage,
  RefuseMessage,
  ServicesAck,
  WelcomeMessage,
  type Shape,
} from '@reeve/contract'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { err, ok, type Result } from '@reeve/kit/result.ts'

/**
 * The entries are read one by one (`readAssignment`): one that is not readable must not cost the
 * others.
 */
const DesiredEnvelope = Type.Object({
  ...DesiredMessage.properties,
  allocations: Type.Array(Type.Unknown()),
})
export type DesiredEnvelope = Shape<typeof DesiredEnvelope>

/** About services and variables (contract: catalog.ts). */
export type CatalogMessage = ServicesAck | FactsMessage

/** What is asked is read by who does it: a later server may ask for things unknown here. */
const RequestEnvelope = Type.Object({ ...RequestMessage.properties, request: Type.Unknown() })
export type RequestEnvelope = Shape<typeof RequestEnvelope>
const OpenEnvelope = Type.Object({ ...OpenMessage.properties, request: Type.Unknown() })
export type OpenEnvelope = Shape<typeof OpenEnvelope>

export type Incoming =
  | RequestEnvelope
  | OpenEnvelope
  | Shape<typeof WelcomeMessage>
  | Shape<typeof HeartbeatReply>
  | Shape<typeof AckMessage>
  | Shape<typeof RefuseMessage>
  | CatalogMessage
  | NoDataMessage
  | DesiredEnvelope

const checkers = {
  welcome: Compile(WelcomeMessage),
  heartbeat: Compile(HeartbeatReply),
  ack: Compile(AckMessage),
  refuse: Compile(RefuseMessage),
  desired: Compile(DesiredEnvelope),
  request: Compile(RequestEnvelope),
  open: Compile(OpenEnvelope),
  'services-ack': Compile(ServicesAck),
  facts: Compile(FactsMessage),
  'no-data': Compile(NoDataMessage),
} as const

/**
 * One frame of a server. Undefined for a kind that this agent does not know; an error for a broken
 * frame.
 */
export function readServerMessage(text: string): Result<Incoming | undefined, string> {
  const value = parseJson(text)
  const kind: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'kind') : 0
  if (typeof kind !== 'string') return err('a frame is not a message')
  if (!isKnown(kind)) return ok(undefined)
  const checker = checkers[kind]
  if (checker.Check(value))
    return ok(value.kind === 'desired' ? { ...value, allocations: withJobs(value) } : value)
  const [first] = checker.Errors(value)
  return err(`${kind}${first?.instancePath ?? ''} ${first?.message ?? 'is not readable'}`)
}

/** Entries of one job share what the first of them carries (contract: DesiredEntry). */
function withJobs({ allocations }: DesiredEnvelope): readonly unknown[] {
  return allocations.map((entry) => {
    if (typeof entry !== 'object' || entry === null || !('jobOf' in entry)) return entry
    const first = typeof entry.jobOf === 'number' ? allocations[entry.jobOf] : undefined
    if (typeof first !== 'object' || first === null || !('job' in first)) return entry
    return { ...entry, job: first.job }
  })
}

function isKnown(kind: string): kind is keyof typeof checkers {
  return Object.hasOwn(checkers, kind)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON: told apart from every message by not being an object.
    return undefined
  }
}
