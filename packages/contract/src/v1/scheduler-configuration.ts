import { Type } from 'typebox'
import { routes } from '../route.ts'
import { put, read } from './define.ts'
import { Named, Index, type Input, type Infer } from '../schema.ts'
import { jsonResponse } from './shared-schemas.ts'
import { TextParameter } from './query.ts'
import { responseMeta } from './write-response.ts'

export const SCHEDULER_ALGORITHMS = ['binpack', 'spread'] as const
export type SchedulerAlgorithm = (typeof SCHEDULER_ALGORITHMS)[number]

export const PreemptionConfig = Type.Object(
  {
    SystemSchedulerEnabled: Type.Boolean({ default: true }),
    SysBatchSchedulerEnabled: Type.Boolean(),
    BatchSchedulerEnabled: Type.Boolean(),
    ServiceSchedulerEnabled: Type.Boolean(),
  },
  { $id: 'PreemptionConfig', description: 'Which jobs may displace others of lower priority.' },
)
export type PreemptionConfig = Infer<typeof PreemptionConfig>

export const SchedulerConfiguration = Type.Object(
  {
    SchedulerAlgorithm: Type.String({ description: '`binpack` or `spread`.', default: 'binpack' }),
    PreemptionConfig: PreemptionConfig,
    MemoryOversubscriptionEnabled: Type.Boolean(),
    RejectJobRegistration: Type.Boolean({ description: 'Only management tokens may register.' }),
    PauseEvalBroker: Type.Boolean({ description: 'Hand out no evaluations.' }),
    CreateIndex: Index(),
    ModifyIndex: Index(),
  },
  { $id: 'SchedulerConfiguration', description: 'Settings of the scheduler for a whole region.' },
)
export type SchedulerConfiguration = Infer<typeof SchedulerConfiguration>
export type SchedulerConfigurationRequest = Input<SchedulerConfiguration>

export const SchedulerConfigurationResponse = Named('SchedulerConfigurationResponse', {
  SchedulerConfig: SchedulerConfiguration,
  ...responseMeta,
})
export type SchedulerConfigurationResponse = Infer<typeof SchedulerConfigurationResponse>

export const SchedulerConfigurationUpdate = Named('SchedulerConfigurationUpdate', {
  Updated: Type.Boolean({ description: 'False when `cas` was not the current index.' }),
  Index: Index(),
})
export type SchedulerConfigurationUpdate = Infer<typeof SchedulerConfigurationUpdate>

const path = '/operator/scheduler/configuration'

export const schedulerConfigurationRoutes = routes('Operator', {
  readSchedulerConfiguration: read(path, {
    summary: 'Read the settings of the scheduler.',
    answeredBy: 'leader',
    returns: jsonResponse(SchedulerConfigurationResponse, 'The settings.'),
    needs: 'operator:read',
  }),
  writeSchedulerConfiguration: put(path, {
    summary: 'Change the settings of the scheduler.',
    growsState: false,
    query: { cas: TextParameter('Change them only if their `ModifyIndex` is this number.') },
    body: SchedulerConfiguration,
    returns: jsonResponse(SchedulerConfigurationUpdate, 'Whether they were changed.'),
    errors: { 400: 'The settings or `cas` cannot be read, or the algorithm is unknown.' },
    needs: 'operator:write',
  }),
})
