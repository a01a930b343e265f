import { Type } from 'typebox'
import { MapOf, Nullable, type Infer } from '../schema.ts'
import { Uuid } from '../v1/shared-schemas.ts'
import { ServiceRegistration } from '../v1/service-registration.ts'

/**
 * Service registrations that an agent reports, and watches that it opens to render templates.
 *
 *   agent                               server
 *     services ────────────────────────►           offered services; the next waits for the ack
 *            ◄──────────────────────── services-ack
 *     watch  ──────────────────────────►           with an id
 *            ◄──────────────────────── facts       with the same id: at once, and after each change
 *     unwatch ─────────────────────────►
 */

/**
 * A service instance as its agent knows it; the servers add the other fields of a
 * ServiceRegistration.
 */
export const ReportedService = Type.Object(
  Type.Pick(ServiceRegistration, ['ID', 'ServiceName', 'Tags', 'Address', 'Port', 'Checks'])
    .properties,
)
export type ReportedService = Infer<typeof ReportedService>

/** All services that one allocation offers now. Services that are not listed are deregistered. */
export const AllocationServiceSet = Type.Object({
  allocation: Uuid(),
  services: Type.Array(ReportedService),
})
export type AllocationServiceSet = Infer<typeof AllocationServiceSet>

export const ServicesMessage = Type.Object({
  kind: Type.Literal('services'),
  seq: Type.Integer({ minimum: 1, description: 'Increases with every message of a channel.' }),
  sets: Type.Array(AllocationServiceSet),
  all: Type.Optional(
    Type.Array(Uuid(), {
      description:
        'Ends the full report of a new channel: every allocation that offers a service. The services of all other allocations are deregistered.',
    }),
  ),
})
export type ServicesMessage = Infer<typeof ServicesMessage>

export const ServicesAck = Type.Object({ kind: Type.Literal('services-ack'), seq: Type.Integer() })
export type ServicesAck = Infer<typeof ServicesAck>

/** Topics of a watch. A node sees only what its own allocations may read. */
export const WatchTopic = Type.Union([
  Type.Object({ topic: Type.Literal('service'), namespace: Type.String(), name: Type.String() }),
  Type.Object({ topic: Type.Literal('services'), namespace: Type.String() }),
  Type.Object({ topic: Type.Literal('variable'), namespace: Type.String(), path: Type.String() }),
  Type.Object({
    topic: Type.Literal('variables'),
    namespace: Type.String(),
    path: Type.String({ description: 'Prefix of the paths.' }),
  }),
])
export type WatchTopic = Infer<typeof WatchTopic>

export const WatchMessage = Type.Object({
  kind: Type.Literal('watch'),
  id: Type.Integer({ minimum: 1, description: 'Chosen by the agent; valid for one channel.' }),
  what: WatchTopic,
})

export const UnwatchMessage = Type.Object({
  kind: Type.Literal('unwatch'),
  id: Type.Integer({ minimum: 1 }),
})

/** Current value of a watch. One field is set, depending on the topic. */
export const WatchUpdateMessage = Type.Object({
  kind: Type.Literal('facts'),
  id: Type.Integer(),
  instances: Type.Optional(Type.Array(ServiceRegistration)),
  names: Type.Optional(
    Type.Array(Type.Object({ name: Type.String(), tags: Type.Array(Type.String()) })),
  ),
  items: Type.Optional(Nullable(MapOf(Type.String()))),
  paths: Type.Optional(Type.Array(Type.String())),
})
export type WatchUpdateMessage = Infer<typeof WatchUpdateMessage>
