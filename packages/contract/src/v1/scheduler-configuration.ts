import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, type Input, type Shape } from '../shape.ts'
import { denied, ok, PUT_OR_POST, refused } from './answer.ts'
import { common, ReadQuery, Text } from './query.ts'
import { responseMeta } from './write-response.ts'

/** Reference §8.8. */
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
export type PreemptionConfig = Shape<typeof PreemptionConfig>

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
export type SchedulerConfiguration = Shape<typeof SchedulerConfiguration>
export type SchedulerConfigurationRequest = Input<SchedulerConfiguration>

export const SchedulerConfigurationResponse = Type.Object(
  { SchedulerConfig: SchedulerConfiguration, ...responseMeta },
  { $id: 'SchedulerConfigurationResponse' },
)
export type SchedulerConfigurationResponse = Shape<typeof SchedulerConfigurationResponse>

export const SchedulerConfigurationUpdate = Type.Object(
  {
    Updated: Type.Boolean({ description: 'False when `cas` was not the current index.' }),
    Index: Index(),
  },
  { $id: 'SchedulerConfigurationUpdate' },
)
export type SchedulerConfigurationUpdate = Shape<typeof SchedulerConfigurationUpdate>

const path = '/v1/operator/scheduler/configuration'

export const schedulerConfigurationRoutes = {
  readSchedulerConfiguration: route({
    id: 'readSchedulerConfiguration',
    methods: ['GET'],
    path,
    answeredBy: 'leader',
    summary: 'Read the settings of the scheduler.',
    section: 'Operator',
    query: ReadQuery,
    answers: { 200: ok(SchedulerConfigurationResponse, 'The settings.'), 403: denied },
    needs: 'operator:read',
  }),
  writeSchedulerConfiguration: route({
    id: 'writeSchedulerConfiguration',
    methods: PUT_OR_POST,
    path,
    growsState: false,
    summary: 'Change the settings of the scheduler.',
    section: 'Operator',
    query: Type.Object({
      ...common,
      cas: Text('Change them only if their `ModifyIndex` is this number.'),
    }),
    body: SchedulerConfiguration,
    answers: {
      200: ok(SchedulerConfigurationUpdate, 'Whether they were changed.'),
      400: refused('The settings or `cas` cannot be read, or the algorithm is unknown.'),
      403: denied,
    },
    needs: 'operator:write',
  }),
} as const
