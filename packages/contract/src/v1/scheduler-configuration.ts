import * as t from './shared-schemas.ts'
import { put, read, routes } from './define.ts'
import { responseMeta } from './write-response.ts'

export const SCHEDULER_ALGORITHMS = ['binpack', 'spread'] as const
export type SchedulerAlgorithm = (typeof SCHEDULER_ALGORITHMS)[number]

export const PreemptionConfig = t.Object(
  {
    SystemSchedulerEnabled: t.Boolean({ default: true }),
    SysBatchSchedulerEnabled: t.Boolean(),
    BatchSchedulerEnabled: t.Boolean(),
    ServiceSchedulerEnabled: t.Boolean(),
  },
  { $id: 'PreemptionConfig', description: 'Which jobs may displace others of lower priority.' },
)
export type PreemptionConfig = t.Infer<typeof PreemptionConfig>

export const SchedulerConfiguration = t.Object(
  {
    SchedulerAlgorithm: t.String({ description: '`binpack` or `spread`.', default: 'binpack' }),
    PreemptionConfig: PreemptionConfig,
    MemoryOversubscriptionEnabled: t.Boolean(),
    RejectJobRegistration: t.Boolean({ description: 'Only management tokens may register.' }),
    PauseEvalBroker: t.Boolean({ description: 'Hand out no evaluations.' }),
    CreateIndex: t.Index(),
    ModifyIndex: t.Index(),
  },
  { $id: 'SchedulerConfiguration', description: 'Settings of the scheduler for a whole region.' },
)
export type SchedulerConfiguration = t.Infer<typeof SchedulerConfiguration>
export type SchedulerConfigurationRequest = t.Input<SchedulerConfiguration>

export const SchedulerConfigurationResponse = t.Named('SchedulerConfigurationResponse', {
  SchedulerConfig: SchedulerConfiguration,
  ...responseMeta,
})
export type SchedulerConfigurationResponse = t.Infer<typeof SchedulerConfigurationResponse>

export const SchedulerConfigurationUpdate = t.Named('SchedulerConfigurationUpdate', {
  Updated: t.Boolean({ description: 'False when `cas` was not the current index.' }),
  Index: t.Index(),
})
export type SchedulerConfigurationUpdate = t.Infer<typeof SchedulerConfigurationUpdate>

const path = '/operator/scheduler/configuration'

export const schedulerConfigurationRoutes = routes('Operator', {
  readSchedulerConfiguration: read(path, {
    summary: 'Read the settings of the scheduler.',
    answeredBy: 'leader',
    returns: t.jsonResponse(SchedulerConfigurationResponse, 'The settings.'),
    needs: 'operator:read',
  }),
  writeSchedulerConfiguration: put(path, {
    summary: 'Change the settings of the scheduler.',
    growsState: false,
    query: { cas: t.TextParameter('Change them only if their `ModifyIndex` is this number.') },
    body: SchedulerConfiguration,
    returns: t.jsonResponse(SchedulerConfigurationUpdate, 'Whether they were changed.'),
    errors: { 400: 'The settings or `cas` cannot be read, or the algorithm is unknown.' },
    needs: 'operator:write',
  }),
})
