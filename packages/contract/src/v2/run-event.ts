import * as t from './json-api.ts'
import { read, routes } from './define.ts'

/** Something that happened to a run, in the order in which it happened. */
export const RunEvent = t.ResourceOf('RunEvent', 'run-events', {
  attributes: t.Object({
    action: t.String({
      description:
        '`created`, the status that the run entered, or `ignored_policy_sets`: a warning.',
    }),
    description: t.Nullable(t.String()),
    'created-at': t.Timestamp(),
  }),
  relationships: t.Object({ actor: t.ToOneOrNone('users') }),
})
export type RunEvent = t.Infer<typeof RunEvent>

export const RunEventList = t.ListOf(RunEvent)

export const runEventRoutes = routes('Runs', {
  listRunEvents: read('/runs/:run_id/run-events', {
    summary: 'List what happened to a run, oldest first.',
    returns: RunEventList,
    result: 'All events.',
    needs: 'Permission to read the runs of the workspace.',
  }),
})
