import { Type } from 'typebox'
import { routes } from '../route.ts'
import { read } from './define.ts'
import { Nullable, Timestamp, type Infer } from '../schema.ts'
import { ListOf, ResourceOf, ToOneOrNone } from './json-api.ts'

/** Something that happened to a run, in the order in which it happened. */
export const RunEvent = ResourceOf('RunEvent', 'run-events', {
  attributes: Type.Object({
    action: Type.String({ description: '`created`, or the status that the run entered.' }),
    description: Nullable(Type.String()),
    'created-at': Timestamp(),
  }),
  relationships: Type.Object({ actor: ToOneOrNone('users') }),
})
export type RunEvent = Infer<typeof RunEvent>

export const RunEventList = ListOf(RunEvent)

export const runEventRoutes = routes('Runs', {
  listRunEvents: read('/runs/:run_id/run-events', {
    summary: 'List what happened to a run, oldest first.',
    returns: RunEventList,
    result: 'All events.',
    needs: 'Permission to read the runs of the workspace.',
  }),
})
