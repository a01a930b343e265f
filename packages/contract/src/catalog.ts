import { Type } from 'typebox'
import { MapOf, Nullable, type Shape } from './shape.ts'
import { Uuid } from './v1/identifier.ts'
import { ServiceRegistration } from './v1/service-registration.ts'

/**
 * What an agent says of the services of its allocations, and what it may ask for to fill templates.
 *
 *   agent                               server
 *     services ────────────────────────►           what allocations offer; the next one waits for
 *            ◄──────────────────────── services-ack
 *     watch  ──────────────────────────►           with an id
 *            ◄──────────────────────── facts       with the same id: at once, and after each change
 *     unwatch ─────────────────────────►
 */

/** One instance as its agent knows it; the servers know the rest of a ServiceRegistration. */
export const OfferedService = Type.Object(
  Type.Pick(ServiceRegistration, ['ID', 'ServiceName', 'Tags', 'Address', 'Port', 'Checks'])
    .properties,
)
export type OfferedService = Shape<typeof OfferedService>

/** All that one allocation offers now: what is not named is not offered any more. */
export const AllocationServices = Type.Object({
  allocation: Uuid(),
  services: Type.Array(OfferedService),
})
export type AllocationServices = Shape<typeof AllocationServices>

export const ServicesMessage = Type.Object({
  kind: Type.Literal('services'),
  seq: Type.Integer({ minimum: 1, description: 'Counts up on one channel.' }),
  sets: Type.Array(AllocationServices),
  all: Type.Optional(
    Type.Array(Uuid(), {
      description:
        'Ends what a new channel begins with: every allocation that offers something. The services of others go.',
    }),
  ),
})
export type ServicesMessage = Shape<typeof ServicesMessage>

export const ServicesAck = Type.Object({
  kind: Type.Literal('services-ack'),
  seq: Type.Integer(),
})
export type ServicesAck = Shape<typeof ServicesAck>

/** What can be followed. A node sees only what its own allocations may. */
export const WatchTopic = Type.Union([
  Type.Object({ topic: Type.Literal('service'), namespace: Type.String(), name: Type.String() }),
  Type.Object({ topic: Type.Literal('services'), namespace: Type.String() }),
  Type.Object({ topic: Type.Literal('variable'), namespace: Type.String(), path: Type.String() }),
  Type.Object({
    topic: Type.Literal('variables'),
    namespace: Type.String(),
    path: Type.String({ description: 'What the paths begin with.' }),
  }),
])
export type WatchTopic = Shape<typeof WatchTopic>

export const WatchMessage = Type.Object({
  kind: Type.Literal('watch'),
  id: Type.Integer({ minimum: 1, description: 'Chosen by the agent, good for one channel.' }),
  what: WatchTopic,
})

export const UnwatchMessage = Type.Object({
  kind: Type.Literal('unwatch'),
  id: Type.Integer({ minimum: 1 }),
})

/** How it stands; the field is that of the topic. */
export const FactsMessage = Type.Object({
  kind: Type.Literal('facts'),
  id: Type.Integer(),
  instances: Type.Optional(Type.Array(ServiceRegistration)),
  names: Type.Optional(
    Type.Array(Type.Object({ name: Type.String(), tags: Type.Array(Type.String()) })),
  ),
  items: Type.Optional(Nullable(MapOf(Type.String()))),
  paths: Type.Optional(Type.Array(Type.String())),
})
export type FactsMessage = Shape<typeof FactsMessage>
