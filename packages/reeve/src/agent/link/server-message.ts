import {
  AckMessage,
  DesiredMessage,
  WatchUpdateMessage,
  HeartbeatReply,
  NoDataMessage,
  OpenMessage,
  RequestMessage,
  RefuseMessage,
  ServicesAck,
  WelcomeMessage,
  type Infer,
} from '@reeve/contract'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { err, ok, type Result } from '@reeve/kit/result.ts'

/**
 * The `desired` message. Entries are parsed separately (`readAssignment`), so that an unreadable
 * one does not affect the others.
 */
const DesiredEnvelope = Type.Object({
  ...DesiredMessage.properties,
  allocations: Type.Array(Type.Unknown()),
})
export type DesiredEnvelope = Infer<typeof DesiredEnvelope>

/** Messages about services and variables (contract: catalog.ts). */
export type CatalogMessage = ServicesAck | WatchUpdateMessage

/** The inner request is parsed by its handler: a newer server may send requests unknown here. */
const RequestEnvelope = Type.Object({ ...RequestMessage.properties, request: Type.Unknown() })
export type RequestEnvelope = Infer<typeof RequestEnvelope>
const OpenEnvelope = Type.Object({ ...OpenMessage.properties, request: Type.Unknown() })
export type OpenEnvelope = Infer<typeof OpenEnvelope>

export type ReceivedMessage =
  | RequestEnvelope
  | OpenEnvelope
  | Infer<typeof WelcomeMessage>
  | Infer<typeof HeartbeatReply>
  | Infer<typeof AckMessage>
  | Infer<typeof RefuseMessage>
  | CatalogMessage
  | NoDataMessage
  | DesiredEnvelope

const messageCheckers = {
  welcome: Compile(WelcomeMessage),
  heartbeat: Compile(HeartbeatReply),
  ack: Compile(AckMessage),
  refuse: Compile(RefuseMessage),
  desired: Compile(DesiredEnvelope),
  request: Compile(RequestEnvelope),
  open: Compile(OpenEnvelope),
  'services-ack': Compile(ServicesAck),
  facts: Compile(WatchUpdateMessage),
  'no-data': Compile(NoDataMessage),
} as const

/** Parses one frame of a server. Undefined for an unknown kind; an error for an invalid frame. */
export function readServerMessage(text: string): Result<ReceivedMessage | undefined, string> {
  const value = parseJson(text)
  const kind: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'kind') : 0
  if (typeof kind !== 'string') return err('a frame is not a message')
  if (!isKnownKind(kind)) return ok(undefined)
  const checker = messageCheckers[kind]
  if (checker.Check(value))
    return ok(
      value.kind === 'desired' ? { ...value, allocations: restoreSharedJobs(value) } : value,
    )
  const [firstError] = checker.Errors(value)
  return err(`${kind}${firstError?.instancePath ?? ''} ${firstError?.message ?? 'is not readable'}`)
}

/** Restores the job of entries that share it with an earlier one (contract: DesiredEntry). */
function restoreSharedJobs({ allocations }: DesiredEnvelope): readonly unknown[] {
  return allocations.map((entry) => {
    if (typeof entry !== 'object' || entry === null || !('jobOf' in entry)) return entry
    const entryWithJob = typeof entry.jobOf === 'number' ? allocations[entry.jobOf] : undefined
    if (typeof entryWithJob !== 'object' || entryWithJob === null || !('job' in entryWithJob))
      return entry
    return { ...entry, job: entryWithJob.job }
  })
}

function isKnownKind(kind: string): kind is keyof typeof messageCheckers {
  return Object.hasOwn(messageCheckers, kind)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Invalid JSON is rejected like any other frame that is not an object.
    return undefined
  }
}
