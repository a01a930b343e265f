import { Type } from 'typebox'
import { routes } from '../route.ts'
import { Nullable, Timestamp, type Infer } from '../schema.ts'
import { create, list, read, remove } from './define.ts'
import { DocumentOf, OneOf, PageOf, RequestOf, ResourceOf, SelfLink, ToOne } from './json-api.ts'
import { RUN_TRIGGERS_MAX } from './limits.ts'
import { fieldsQuery, includeQuery } from './query.ts'

export const RUN_TRIGGER_INCLUDES = ['workspace', 'sourceable'] as const

/** Direction of run triggers, as seen from a workspace. */
export const RUN_TRIGGER_DIRECTIONS = ['inbound', 'outbound'] as const

/** When a run of the source is applied, a run is queued in the workspace. */
export const RunTrigger = ResourceOf('RunTrigger', 'run-triggers', {
  attributes: Type.Object({
    'workspace-name': Type.String(),
    'sourceable-name': Type.String({ description: 'The name of the source.' }),
    'created-at': Timestamp(),
    'error-message': Nullable(
      Type.String({ description: 'Why the latest apply of the source queued no run.' }),
    ),
  }),
  relationships: Type.Object({ workspace: ToOne('workspaces'), sourceable: ToOne('workspaces') }),
  links: SelfLink(),
})
export type RunTrigger = Infer<typeof RunTrigger>

export const RunTriggerDocument = DocumentOf(RunTrigger)
export const RunTriggerPage = PageOf(RunTrigger)

export const RunTriggerCreateRequest = RequestOf('RunTriggerCreateRequest', 'run-triggers', {
  relationships: Type.Object({ sourceable: ToOne('workspaces') }),
})
export type RunTriggerCreateRequest = Infer<typeof RunTriggerCreateRequest>

const reads = 'Read access to the workspace.'
const writes = 'Permission to update the workspace.'
const shown = { ...includeQuery(RUN_TRIGGER_INCLUDES), ...fieldsQuery('run-triggers') }

export const runTriggerRoutes = routes('Run triggers', {
  listRunTriggers: list('/workspaces/:workspace_id/run-triggers', {
    summary: 'List the run triggers of a workspace, oldest first.',
    query: {
      'filter[run-trigger][type]': Type.Optional(
        OneOf(
          RUN_TRIGGER_DIRECTIONS,
          '`inbound`, the default, queue runs in the workspace; `outbound` triggers queue runs in other workspaces.',
        ),
      ),
      ...shown,
    },
    returns: RunTriggerPage,
    needs: `${reads} Of outbound ones, those whose workspace the caller may read.`,
  }),
  createRunTrigger: create('/workspaces/:workspace_id/run-triggers', {
    summary: 'Queue a run in a workspace whenever a run of another one is applied.',
    body: RunTriggerCreateRequest,
    returns: RunTriggerDocument,
    errors: {
      422: `The source does not exist, is the workspace itself or is a source already, or the workspace has ${RUN_TRIGGERS_MAX} sources or the source triggers ${RUN_TRIGGERS_MAX} workspaces, the maximum.`,
    },
    needs: 'Permission to update the workspace, and read access to the source.',
  }),
  readRunTrigger: read('/run-triggers/:run_trigger_id', {
    summary: 'Show a run trigger.',
    query: shown,
    returns: RunTriggerDocument,
    needs: reads,
  }),
  deleteRunTrigger: remove('/run-triggers/:run_trigger_id', {
    summary: 'Delete a run trigger.',
    needs: writes,
  }),
})
