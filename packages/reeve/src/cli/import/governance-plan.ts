import { v2 } from '@reeve/contract'
import {
  selectImportedFields,
  mergePlans,
  planRecord,
  type Fields,
  type ImportPlan,
  type Omission,
  type PartialPlan,
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

/** One record to write. References are names; the writer resolves them to IDs of the target. */
export interface GovernanceWrite {
  readonly type: GovernanceKind
  readonly organization: string
  readonly name: string
  /** Undefined for a new record. */
  readonly id: string | undefined
  readonly attributes: Fields
  readonly tags?: Fields
  readonly project?: string
  /** Set for team access records. */
  readonly team?: string
  readonly accessTarget?: string
  /** Set for policies. */
  readonly code?: string | undefined
  readonly members?: PolicySetRecord['members']
  /** Set for policy set parameters. */
  readonly policySet?: string
}

interface GovernanceImport {
  readonly source: readonly OrganizationInventory[]
  readonly target: readonly OrganizationInventory[]
  /** Overwrite differing values of the target. */
  readonly overwrite: boolean
}

interface Schema {
  readonly properties: { readonly attributes: { readonly properties: object } }
}

/** Attributes of our schema. Those that are not imported are managed by the target. */
function attributesOf({ properties }: Schema): readonly string[] {
  return Object.keys(properties.attributes.properties)
}

const ORGANIZATION: RecordRules = {
  kind: 'organization',
  importedFields: [
    'email',
    'allow-force-delete-workspaces',
    'user-tokens-enabled',
    'session-timeout',
    'session-remember',
    'collaborator-auth-policy',
  ],
  ignoredFields: [
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
  importedFields: ['description', 'auto-destroy-activity-duration', 'tags'],
  ignoredFields: [...attributesOf(v2.Project), 'is-unified', 'setting-overwrites'],
  defaults: { 'default-execution-mode': 'remote' },
}
const RESERVED_TAG_KEY: RecordRules = {
  kind: 'reserved-tag-key',
  importedFields: ['disable-overrides'],
  ignoredFields: attributesOf(v2.ReservedTagKey),
}
const TEAM: RecordRules = {
  kind: 'team',
  importedFields: ['visibility', 'allow-member-token-management', 'organization-access'],
  ignoredFields: attributesOf(v2.Team),
  reasons: { 'sso-team-id': 'Single sign-on is part of the server configuration.' },
}
const PROJECT_ACCESS: RecordRules = {
  kind: 'team-project',
  importedFields: ['access', 'project-access', 'workspace-access'],
  ignoredFields: attributesOf(v2.TeamProjectAccess),
}
const WORKSPACE: RecordRules = {
  kind: 'workspace',
  importedFields: [
    'description',
    'auto-apply',
    'auto-destroy-activity-duration',
    'inherits-project-auto-destroy',
    'working-directory',
    'tool-version',
    'project',
    'tags',
  ],
  ignoredFields: [
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
  importedFields: [
    'access',
    'runs',
    'variables',
    'state-versions',
    'policy-mocks',
    'run-tasks',
    'policy-overrides',
    'workspace-locking',
  ],
  ignoredFields: attributesOf(v2.TeamWorkspaceAccess),
}
const POLICY: RecordRules = {
  kind: 'policy',
  importedFields: ['kind', 'description', 'query', 'enforcement-level', 'code'],
  ignoredFields: attributesOf(v2.RunPolicy),
}
const POLICY_SET: RecordRules = {
  kind: 'policy-set',
  importedFields: [
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
  ignoredFields: attributesOf(v2.PolicySet),
  reasons: { 'vcs-repo': 'Sets do not follow a repository: let its pipeline upload them.' },
}
const PARAMETER: RecordRules = {
  kind: 'parameter',
  importedFields: ['value'],
  ignoredFields: [...attributesOf(v2.PolicySetParameter), 'hcl'],
}

/** Compares two governance installations. Pure: equal inventories give equal plans. */
export function planGovernance(input: GovernanceImport): ImportPlan<GovernanceWrite> {
  return mergePlans(
    input.source.map((source) => {
      const isNamed = ({ name }: OrganizationInventory): boolean =>
        name.toLowerCase() === source.name.toLowerCase()
      const target = input.target.find(isNamed)
      return mergePlans(organizationParts({ source, target, overwrite: input.overwrite }))
    }),
  )
}

interface OrganizationPair {
  readonly source: OrganizationInventory
  readonly target: OrganizationInventory | undefined
  readonly overwrite: boolean
}

type Part = PartialPlan<GovernanceWrite>

function organizationParts(pair: OrganizationPair): readonly Part[] {
  const { source, target, overwrite } = pair
  const { name, attributes } = source
  const write = {
    ...({ type: 'organization', organization: name, name, id: target?.name } as const),
    attributes: { name, ...selectImportedFields(ORGANIZATION, attributes) },
  }
  const organization = { name, source: attributes, target: target?.attributes, overwrite, write }
  const teams = source.teams.filter(isNotOwners)
  const accesses = {
    project: source.projectAccesses.filter(({ team }) => team !== OWNERS),
    workspace: source.workspaceAccesses.filter(({ team }) => team !== OWNERS),
  }
  return [
    { omissions: source.gaps },
    planRecord<GovernanceWrite>(ORGANIZATION, organization),
    ...source.reservedTagKeys.map((one) =>
      planGovernanceRecord(pair, RESERVED_TAG_KEY, {
        record: one,
        targetRecords: target?.reservedTagKeys,
        key: 'key',
      }),
    ),
    ...source.projects.map((one) => projectPart(pair, one)),
    ...teams.map((one) =>
      planGovernanceRecord(pair, TEAM, { record: one, targetRecords: target?.teams }),
    ),
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

/** The built-in team with all permissions. */
const OWNERS = 'owners'

function isNotOwners({ name }: GovernanceRecord): boolean {
  return name !== OWNERS
}

interface RecordComparison {
  readonly record: GovernanceRecord
  readonly targetRecords: readonly GovernanceRecord[] | undefined
  /** The attribute with the name; defaults to `name`. */
  readonly key?: string
  /** Returns additional fields to compare. */
  readonly additionalFields?: (one: GovernanceRecord) => Fields
  readonly write?: Partial<GovernanceWrite>
}

function planGovernanceRecord(
  pair: OrganizationPair,
  rules: RecordRules,
  compared: RecordComparison,
): Part {
  const {
    record,
    targetRecords = [],
    key = 'name',
    additionalFields = () => ({}),
    write = {},
  } = compared
  const other = targetRecords.find(({ name }) => name.toLowerCase() === record.name.toLowerCase())
  const organization = pair.source.name
  const source = { ...record.attributes, ...additionalFields(record) }
  const additionalNames = Object.keys(additionalFields(record))
  const attributes = Object.entries(selectImportedFields(rules, source)).filter(
    ([field]) => !additionalNames.includes(field),
  )
  return planRecord<GovernanceWrite>(rules, {
    name: `${organization}/${record.name}`,
    source,
    target: other && { ...other.attributes, ...additionalFields(other) },
    overwrite: pair.overwrite,
    write: {
      // Proof: the kinds of the rules are those of the writes.
      type: rules.kind as GovernanceKind,
      organization,
      name: record.name,
      id: other?.id,
      attributes: { [key]: record.name, ...Object.fromEntries(attributes) },
      ...write,
    },
  })
}

function projectPart(pair: OrganizationPair, project: TaggedRecord): Part {
  return planGovernanceRecord(pair, PROJECT, {
    record: project,
    targetRecords: pair.target?.projects,
    additionalFields: (one) => ({ tags: tagsOf(one) }),
    write: { tags: project.tags },
  })
}

function tagsOf(record: GovernanceRecord): unknown {
  // A tag without a value must not compare as an empty value.
  const tags = 'tags' in record ? Object.entries(Object(record.tags)) : []
  return tags.map(([key, value]) => `${key}=${String(value)}`).toSorted()
}

function workspacePart(pair: OrganizationPair, workspace: WorkspaceRecord): Part {
  const { project, tags, variables } = workspace
  const made = planGovernanceRecord(pair, WORKSPACE, {
    record: workspace,
    targetRecords: pair.target?.workspaces,
    additionalFields: (one) => ({ tags: tagsOf(one), project: Reflect.get(one, 'project') }),
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
  pair: OrganizationPair,
  rules: RecordRules,
  { record, others }: { record: AccessRecord; others: readonly AccessRecord[] | undefined },
): Part {
  // Individual permissions follow from the level and may be set for `custom` only.
  const isCustom = record.attributes['access'] === 'custom'
  const compared = isCustom ? rules : { ...rules, importedFields: ['access'] }
  const made = planGovernanceRecord(pair, compared, {
    record,
    targetRecords: others,
    write: { team: record.team, accessTarget: record.target },
  })
  const actions = made.actions?.map((action) => {
    const { name: _, ...attributes } = action.write.attributes
    return { ...action, write: { ...action.write, attributes } }
  })
  return { ...made, ...(actions === undefined ? {} : { actions }) }
}

function policyPart(pair: OrganizationPair, policy: PolicyRecord): Part {
  return planGovernanceRecord(pair, POLICY, {
    record: policy,
    targetRecords: pair.target?.policies,
    additionalFields: (one) => ({ code: Reflect.get(one, 'code') }),
    write: { code: policy.code },
  })
}

function policySetPart(pair: OrganizationPair, set: PolicySetRecord): Part {
  const other = pair.target?.policySets.find(({ name }) => name === set.name)
  const item = { kind: 'policy-set', name: `${pair.source.name}/${set.name}` }
  const made = planGovernanceRecord(pair, POLICY_SET, {
    record: set,
    targetRecords: pair.target?.policySets,
    additionalFields: (one) => ({ ...Object(Reflect.get(one, 'members')) }),
    write: { members: set.members },
  })
  const isVersioned = set.attributes['versioned'] === true
  const archive = 'Its archive cannot be read back: upload it with "reeve policy-set upload".'
  return mergePlans<GovernanceWrite>([
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

function parameterPart(pair: OrganizationPair, { set, other, parameter }: ParameterPlace): Part {
  if (parameter.attributes['sensitive'] === true) {
    const name = `${pair.source.name}/${set.name}/${parameter.name}`
    const reason = 'A sensitive value is not shown: set the parameter by hand.'
    return { secrets: [{ kind: 'parameter', name, reason }] }
  }
  const made = planGovernanceRecord(pair, PARAMETER, {
    record: parameter,
    targetRecords: other?.parameters,
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
