import * as t from './json-api.ts'
import { create, list, read, remove, routes } from './define.ts'

export const RUN_TRIGGER_INCLUDES = ['workspace', 'sourceable'] as const

/** Direction of run triggers, as seen from a workspace. */
export const RUN_TRIGGER_DIRECTIONS = ['inbound', 'outbound'] as const

/** When a run of the source is applied, a run is queued in the workspace. */
export const RunTrigger = t.ResourceOf('RunTrigger', 'run-triggers', {
  attributes: t.Object({
    'workspace-name': t.String(),
    'sourceable-name': t.String({ description: 'The name of the source.' }),
    'created-at': t.Timestamp(),
    'error-message': t.Nullable(
      t.String({ description: 'Why the latest apply of the source queued no run.' }),
    ),
  }),
  relationships: t.Object({ workspace: t.ToOne('workspaces'), sourceable: t.ToOne('workspaces') }),
  links: t.SelfLink(),
})
export type RunTrigger = t.Infer<typeof RunTrigger>

export const RunTriggerCreateRequest = t.RequestOf('RunTriggerCreateRequest', 'run-triggers', {
  relationships: t.Object({ sourceable: t.ToOne('workspaces') }),
})

const reads = 'Read access to the workspace.'
const writes = 'Permission to update the workspace.'
const shown = { ...t.includeQuery(RUN_TRIGGER_INCLUDES), ...t.fieldsQuery('run-triggers') }

export const runTriggerRoutes = routes('Run triggers', {
  listRunTriggers: list('/workspaces/:workspace_id/run-triggers', {
    summary: 'List the run triggers of a workspace, oldest first.',
    query: {
      'filter[run-trigger][type]': t.Optional(
        t.OneOf(
          RUN_TRIGGER_DIRECTIONS,
          '`inbound`, the default, queue runs in the workspace; `outbound` triggers queue runs in other workspaces.',
        ),
      ),
      ...shown,
    },
    returns: RunTrigger,
    needs: `${reads} Of outbound ones, those whose workspace the caller may read.`,
  }),
  createRunTrigger: create('/workspaces/:workspace_id/run-triggers', {
    summary: 'Queue a run in a workspace whenever a run of another one is applied.',
    body: RunTriggerCreateRequest,
    returns: RunTrigger,
    errors: {
      422: `The source does not exist, is the workspace itself or is a source already, or the workspace has ${t.RUN_TRIGGERS_MAX} sources or the source triggers ${t.RUN_TRIGGERS_MAX} workspaces, the maximum.`,
    },
    needs: 'Permission to update the workspace, and read access to the source.',
  }),
  readRunTrigger: read('/run-triggers/:run_trigger_id', {
    summary: 'Show a run trigger.',
    query: shown,
    returns: RunTrigger,
    needs: reads,
  }),
  deleteRunTrigger: remove('/run-triggers/:run_trigger_id', {
    summary: 'Delete a run trigger.',
    needs: writes,
  }),
})
