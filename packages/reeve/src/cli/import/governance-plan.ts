import { v2 } from '@reeve/contract'
import {
  carriedFields,
  joinParts,
  planRecord,
  type Fields,
  type ImportPlan,
  type Omission,
  type PlanPart,
  type RecordRules,
} from './import-plan.ts'
import type {
  AccessRecord,
  GovernanceRecord,
  OrganizationInventory,
  PolicyRecord,
  PolicySetRecord,
  TaggedRecord,
  WorkspaceRecord,
} from './governance-inventory.ts'

export type GovernanceKind =
  | 'organization'
  | 'project'
  | 'reserved-tag-key'
  | 'team'
  | 'team-project'
  | 'workspace'
  | 'team-workspace'
  | 'policy'
  | 'policy-set'
  | 'parameter'

/** One record to write. What it refers to is named; the writer knows the ids of the target. */
export interface GovernanceWrite {
  readonly type: GovernanceKind
  readonly organization: string
  readonly name: string
  /** Undefined: it is new. */
  readonly id: string | undefined
  readonly attributes: Fields
  readonly tags?: Fields
  readonly project?: string
  /** Of an access. */
  readonly team?: string
  readonly place?: string
  /** Of a policy. */
  readonly code?: string | undefined
  readonly members?: PolicySetRecord['members']
  /** Of a parameter. */
  readonly policySet?: string
}

export interface GovernanceImport {
  readonly source: readonly OrganizationInventory[]
  readonly target: readonly OrganizationInventory[]
  /** Write over what differs. */
  readonly overwrite: boolean
}

interface Schema {
  readonly properties: { readonly attributes: { readonly properties: object } }
}

/** All attributes that the target has besides those that are carried over are its own business. */
function attributesOf({ properties }: Schema): readonly string[] {
  return Object.keys(properties.attributes.properties)
}

const ORGANIZATION: RecordRules = {
  kind: 'organization',
  carried: [
    'email',
    'allow-force-delete-workspaces',
    'user-tokens-enabled',
    'session-timeout',
    'session-remember',
    'collaborator-auth-policy',
  ],
  bookkeeping: [
    ...attributesOf(v2.Organization),
    'plan-expired',
    'plan-is-trial',
    'plan-is-enterprise',
    'plan-identifier',
    'fair-run-queuing-enabled',
    'trial-expires-at',
    'enterprise-plan',
    'default-project',
  ],
  reasons: {
    'cost-estimation-enabled': 'There are no cost estimates.',
    'saml-enabled': 'Single sign-on is part of the server configuration.',
    'assessments-enforced': 'There are no health assessments.',
  },
}
const PROJECT: RecordRules = {
  kind: 'project',
  carried: ['description', 'auto-destroy-activity-duration', 'tags'],
  bookkeeping: [...attributesOf(v2.Project), 'is-unified', 'setting-overwrites'],
  defaults: { 'default-execution-mode': 'remote' },
}
const RESERVED_TAG_KEY: RecordRules = {
  kind: 'reserved-tag-key',
  carried: ['disable-overrides'],
  bookkeeping: attributesOf(v2.ReservedTagKey),
}
const TEAM: RecordRules = {
  kind: 'team',
  carried: ['visibility', 'allow-member-token-management', 'organization-access'],
  bookkeeping: attributesOf(v2.Team),
  reasons: { 'sso-team-id': 'Single sign-on is part of the server configuration.' },
}
const PROJECT_ACCESS: RecordRules = {
  kind: 'team-project',
  carried: ['access', 'project-access', 'workspace-access'],
  bookkeeping: attributesOf(v2.TeamProjectAccess),
}
const WORKSPACE: RecordRules = {
  kind: 'workspace',
  carried: [
    'description',
    'auto-apply',
    'auto-destroy-activity-duration',
    'inherits-project-auto-destroy',
    'working-directory',
    'tool-version',
    'project',
    'tags',
  ],
  bookkeeping: [
    ...attributesOf(v2.Workspace),
    'apply-duration-average',
    'plan-duration-average',
    'workspace-kpis-runs-count',
    'unarchived-workspace-commit-count',
    'last-assessment-result-at',
    'operations',
    'environment',
    'vcs-repo-identifier',
  ],
  reasons: {
    'vcs-repo': 'Runs are not started by a repository: let its pipeline start them.',
    'trigger-prefixes': 'Runs are not started by a repository: let its pipeline start them.',
    'trigger-patterns': 'Runs are not started by a repository: let its pipeline start them.',
    'assessments-enabled': 'There are no health assessments.',
  },
  defaults: {
    'allow-destroy-plan': true,
    'file-triggers-enabled': true,
    'speculative-enabled': true,
    'structured-run-output-enabled': true,
  },
}
const WORKSPACE_ACCESS: RecordRules = {
  kind: 'team-workspace',
  carried: [
    'access',
    'runs',
    'variables',
    'state-versions',
    'policy-mocks',
    'run-tasks',
    'policy-overrides',
    'workspace-locking',
  ],
  bookkeeping: attributesOf(v2.TeamWorkspaceAccess),
}
const POLICY: RecordRules = {
  kind: 'policy',
  carried: ['kind', 'description', 'query', 'enforcement-level', 'code'],
  bookkeeping: attributesOf(v2.RunPolicy),
}
const POLICY_SET: RecordRules = {
  kind: 'policy-set',
  carried: [
    'kind',
    'description',
    'global',
    'overridable',
    'agent-enabled',
    'policy-tool-version',
    'tag-selectors',
    'policies',
    'projects',
    'workspaces',
    'project-exclusions',
    'workspace-exclusions',
  ],
  bookkeeping: attributesOf(v2.PolicySet),
  reasons: { 'vcs-repo': 'Sets do not follow a repository: let its pipeline upload them.' },
}
const PARAMETER: RecordRules = {
  kind: 'parameter',
  carried: ['value'],
  bookkeeping: [...attributesOf(v2.PolicySetParameter), 'hcl'],
}

/** Compares two governance installations. Pure: equal inventories give equal plans. */
export function planGovernance(input: GovernanceImport): ImportPlan<GovernanceWrite> {
  return joinParts(
    input.source.map((source) => {
      const isNamed = ({ name }: OrganizationInventory): boolean =>
        name.toLowerCase() === source.name.toLowerCase()
      const target = input.target.find(isNamed)
      return joinParts(organizationParts({ source, target, overwrite: input.overwrite }))
    }),
  )
}

interface Pair {
  readonly source: OrganizationInventory
  readonly target: OrganizationInventory | undefined
  readonly overwrite: boolean
}

type Part = PlanPart<GovernanceWrite>

function organizationParts(pair: Pair): readonly Part[] {
  const { source, target, overwrite } = pair
  const { name, attributes } = source
  const write = {
    ...({ type: 'organization', organization: name, name, id: target?.name } as const),
    attributes: { name, ...carriedFields(ORGANIZATION, attributes) },
  }
  const own = { name, source: attributes, target: target?.attributes, overwrite, write }
  const teams = source.teams.filter(isNoOwners)
  const accesses = {
    project: source.projectAccesses.filter(({ team }) => team !== OWNERS),
    workspace: source.workspaceAccesses.filter(({ team }) => team !== OWNERS),
  }
  return [
    { omissions: source.gaps },
    planRecord<GovernanceWrite>(ORGANIZATION, own),
    ...source.reservedTagKeys.map((one) =>
      part(pair, RESERVED_TAG_KEY, { record: one, others: target?.reservedTagKeys, key: 'key' }),
    ),
    ...source.projects.map((one) => projectPart(pair, one)),
    ...teams.map((one) => part(pair, TEAM, { record: one, others: target?.teams })),
    ...accesses.project.map((one) =>
      accessPart(pair, PROJECT_ACCESS, { record: one, others: target?.projectAccesses }),
    ),
    ...source.workspaces.map((one) => workspacePart(pair, one)),
    ...accesses.workspace.map((one) =>
      accessPart(pair, WORKSPACE_ACCESS, { record: one, others: target?.workspaceAccesses }),
    ),
    ...source.policies.map((one) => policyPart(pair, one)),
    ...source.policySets.map((one) => policySetPart(pair, one)),
    membersPart(source),
  ]
}

/** Every organization has the team, with all rights. */
const OWNERS = 'owners'

function isNoOwners({ name }: GovernanceRecord): boolean {
  return name !== OWNERS
}

interface Compared {
  readonly record: GovernanceRecord
  readonly others: readonly GovernanceRecord[] | undefined
  /** The attribute that names it, `name` unless given. */
  readonly key?: string
  /** What is compared besides the attributes. */
  readonly beside?: (one: GovernanceRecord) => Fields
  readonly write?: Partial<GovernanceWrite>
}

function part(pair: Pair, rules: RecordRules, compared: Compared): Part {
  const { record, others = [], key = 'name', beside = () => ({}), write = {} } = compared
  const other = others.find(({ name }) => name.toLowerCase() === record.name.toLowerCase())
  const organization = pair.source.name
  const source = { ...record.attributes, ...beside(record) }
  const whole = Object.keys(beside(record))
  const attributes = Object.entries(carriedFields(rules, source)).filter(
    ([field]) => !whole.includes(field),
  )
  return planRecord<GovernanceWrite>(rules, {
    name: `${organization}/${record.name}`,
    source,
    target: other && { ...other.attributes, ...beside(other) },
    overwrite: pair.overwrite,
    write: {
      // The kinds of the rules are those of the writes.
      type: rules.kind as GovernanceKind,
      organization,
      name: record.name,
      id: other?.id,
      attributes: { [key]: record.name, ...Object.fromEntries(attributes) },
      ...write,
    },
  })
}

function projectPart(pair: Pair, project: TaggedRecord): Part {
  return part(pair, PROJECT, {
    record: project,
    others: pair.target?.projects,
    beside: (one) => ({ tags: tagsOf(one) }),
    write: { tags: project.tags },
  })
}

function tagsOf(record: GovernanceRecord): unknown {
  // A tag without a value is a tag: it must not count as nothing.
  const tags = 'tags' in record ? Object.entries(Object(record.tags)) : []
  return tags.map(([key, value]) => `${key}=${String(value)}`).toSorted()
}

function workspacePart(pair: Pair, workspace: WorkspaceRecord): Part {
  const { project, tags, variables } = workspace
  const made = part(pair, WORKSPACE, {
    record: workspace,
    others: pair.target?.workspaces,
    beside: (one) => ({ tags: tagsOf(one), project: Reflect.get(one, 'project') }),
    write: { tags, project },
  })
  const secrets = variables.map(({ key, category }): Omission => ({
    kind: 'variable',
    name: `${pair.source.name}/${workspace.name}/${key}`,
    reason: `Values of variables are not carried over: set this one (${category}) by hand.`,
  }))
  return { ...made, secrets }
}

function accessPart(
  pair: Pair,
  rules: RecordRules,
  { record, others }: { record: AccessRecord; others: readonly AccessRecord[] | undefined },
): Part {
  // The single values follow from the level, and can be given with `custom` only.
  const isCustom = record.attributes['access'] === 'custom'
  const compared = isCustom ? rules : { ...rules, carried: ['access'] }
  const made = part(pair, compared, {
    record,
    others,
    write: { team: record.team, place: record.place },
  })
  const actions = made.actions?.map((action) => {
    const { name: _, ...attributes } = action.write.attributes
    return { ...action, write: { ...action.write, attributes } }
  })
  return { ...made, ...(actions === undefined ? {} : { actions }) }
}

function policyPart(pair: Pair, policy: PolicyRecord): Part {
  return part(pair, POLICY, {
    record: policy,
    others: pair.target?.policies,
    beside: (one) => ({ code: Reflect.get(one, 'code') }),
    write: { code: policy.code },
  })
}

function policySetPart(pair: Pair, set: PolicySetRecord): Part {
  const other = pair.target?.policySets.find(({ name }) => name === set.name)
  const item = { kind: 'policy-set', name: `${pair.source.name}/${set.name}` }
  const made = part(pair, POLICY_SET, {
    record: set,
    others: pair.target?.policySets,
    beside: (one) => ({ ...Object(Reflect.get(one, 'members')) }),
    write: { members: set.members },
  })
  const isVersioned = set.attributes['versioned'] === true
  const archive = 'Its archive cannot be read back: upload it with "reeve policy-set upload".'
  return joinParts<GovernanceWrite>([
    made,
    { omissions: isVersioned ? [{ ...item, field: 'versions', reason: archive }] : [] },
    ...set.parameters.map((parameter) => parameterPart(pair, { set, other, parameter })),
  ])
}

interface ParameterPlace {
  readonly set: PolicySetRecord
  readonly other: PolicySetRecord | undefined
  readonly parameter: GovernanceRecord
}

function parameterPart(pair: Pair, { set, other, parameter }: ParameterPlace): Part {
  if (parameter.attributes['sensitive'] === true) {
    const name = `${pair.source.name}/${set.name}/${parameter.name}`
    const reason = 'A sensitive value is not shown: set the parameter by hand.'
    return { secrets: [{ kind: 'parameter', name, reason }] }
  }
  const made = part(pair, PARAMETER, {
    record: parameter,
    others: other?.parameters,
    key: 'key',
    write: { policySet: set.name },
  })
  const named = <T extends { readonly name: string }>(items: readonly T[] = []) =>
    items.map((one) => ({ ...one, name: `${pair.source.name}/${set.name}/${parameter.name}` }))
  return {
    actions: named(made.actions),
    unchanged: named(made.unchanged),
    differences: named(made.differences),
    omissions: named(made.omissions),
  }
}

function membersPart({ name, members }: OrganizationInventory): Part {
  const reason = 'Users are not created: invite them with "reeve org member add".'
  return {
    omissions: members.map((email) => ({ kind: 'member', name: `${name}/${email}`, reason })),
  }
}
