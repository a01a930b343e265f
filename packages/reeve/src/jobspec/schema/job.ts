import {
  Job,
  JobLink,
  JobUi,
  Multiregion,
  MultiregionRegion,
  MultiregionStrategy,
  ParameterizedJobConfig,
  PeriodicConfig,
} from '@reeve/contract'
import { fallBack, type Draft } from '../build/draft.ts'
import { giveSecretsToGroups, nameJob, wrapTasks } from '../build/normalize.ts'
import { GROUP } from './group.ts'
import { SECRET, SECRET_STORE } from './identity.ts'
import { PLACEMENT_RULES } from './placement.ts'
import { MIGRATE, RESCHEDULE, UPDATE } from './policies.ts'
import { bool, int, many, one, tableOf, text, textMap, texts } from './table.ts'
import { TASK } from './task.ts'

const PERIODIC = tableOf(PeriodicConfig, {
  attributes: {
    cron: text('Spec'),
    crons: texts('Specs'),
    prohibit_overlap: bool('ProhibitOverlap'),
    time_zone: text('TimeZone'),
    enabled: bool('Enabled'),
  },
  finish: nameSpecType,
})

function nameSpecType(draft: Draft): void {
  if (draft.values.has('Spec') || draft.values.has('Specs')) fallBack(draft, 'SpecType', 'cron')
}

const PARAMETERIZED = tableOf(ParameterizedJobConfig, {
  attributes: {
    payload: text('Payload'),
    meta_required: texts('MetaRequired'),
    meta_optional: texts('MetaOptional'),
  },
})

const STRATEGY = tableOf(MultiregionStrategy, {
  attributes: { max_parallel: int('MaxParallel'), on_failure: text('OnFailure') },
})

const REGION = tableOf(MultiregionRegion, {
  label: 'Name',
  attributes: {
    count: int('Count'),
    datacenters: texts('Datacenters'),
    node_pool: text('NodePool'),
    meta: textMap('Meta'),
  },
})

const MULTIREGION = tableOf(Multiregion, {
  blocks: { strategy: one('Strategy', STRATEGY), region: many('Regions', REGION) },
})

const LINK = tableOf(JobLink, { attributes: { label: text('Label'), url: text('URL') } })

const UI = tableOf(JobUi, {
  attributes: { description: text('Description') },
  blocks: { link: many('Links', LINK) },
})

export const JOB = tableOf(Job, {
  label: '@label',
  attributes: {
    id: text('ID'),
    name: text('Name'),
    region: text('Region'),
    namespace: text('Namespace'),
    type: text('Type'),
    priority: int('Priority'),
    all_at_once: bool('AllAtOnce'),
    datacenters: texts('Datacenters'),
    node_pool: text('NodePool'),
    meta: textMap('Meta'),
  },
  blocks: {
    ...PLACEMENT_RULES,
    group: many('TaskGroups', GROUP),
    task: many('@tasks', TASK),
    update: one('Update', UPDATE),
    migrate: one('Migrate', MIGRATE),
    reschedule: one('Reschedule', RESCHEDULE),
    periodic: one('Periodic', PERIODIC),
    parameterized: one('ParameterizedJob', PARAMETERIZED),
    multiregion: one('Multiregion', MULTIREGION),
    secret_store: one('@secret_store', SECRET_STORE),
    secret: many('@secrets', SECRET),
    ui: one('UI', UI),
  },
  finish: (draft) => {
    nameJob(draft)
    wrapTasks(draft, GROUP.fields)
    giveSecretsToGroups(draft)
  },
})
