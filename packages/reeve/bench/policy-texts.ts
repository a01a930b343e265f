import type {
  PolicyInvocation,
  JsonObject,
  PlanInput,
  PolicyDefinition,
} from '../src/policy/index.ts'

/** Realistic rules for jobs; numbers make each text unique. */
const NATIVE_JOB_RULES: readonly ((n: number) => string)[] = [
  (n) => `main = rule { all job.task_groups as group { group.count <= ${20 + n} } }`,
  (n) => `main = rule { job.priority <= ${80 + n} and job.type in ["service", "batch"] }`,
  () => `allowed = ["raw_exec", "exec", "docker"]
main = rule {
  all job.task_groups as group { all group.tasks as task { task.driver in allowed } }
}`,
  (n) => `param most default ${4_000 + n}
sum = func() {
  total = 0
  for job.task_groups as group {
    for group.tasks as task { total += task.resources.memory_mb * group.count }
  }
  return total
}
main = rule { sum() <= most }`,
]

const REGO_JOB_RULES: readonly ((n: number) => string)[] = [
  (n) => `package jobs
deny contains message if {
  some group in input.job.TaskGroups
  group.Count > ${20 + n}
  message := sprintf("group %s is too large", [group.Name])
}`,
  (n) => `package jobs
deny contains "priority" if input.job.Priority > ${80 + n}
deny contains "type" if not input.job.Type in {"service", "batch"}`,
  () => `package jobs
allowed := {"raw_exec", "exec", "docker"}
deny contains task.Name if {
  some group in input.job.TaskGroups
  some task in group.Tasks
  not task.Driver in allowed
}`,
]

/** Policies for jobs, all of which pass. */
export function jobPolicies(kind: 'native' | 'opa', count: number): readonly PolicyInvocation[] {
  const rules = kind === 'native' ? NATIVE_JOB_RULES : REGO_JOB_RULES
  return Array.from({ length: count }, (_, n) =>
    asked({ kind, name: `${kind}-${n}`, code: rules[n % rules.length]?.(n) ?? '' }),
  )
}

/** Policies for plans, all of which pass. */
export function planPolicies(kind: 'native' | 'opa', count: number): readonly PolicyInvocation[] {
  return Array.from({ length: count }, (_, n) =>
    asked({
      kind,
      name: `${kind}-${n}`,
      query: 'data.plans.deny',
      code:
        kind === 'native'
          ? `import "plan/v2" as plan
buckets = filter plan.resource_changes as _, change {
  change.type is "bucket" and change.change.actions is not ["delete"]
}
main = rule { all buckets as _, change { change.change.after.copies >= ${n % 2} } }`
          : `package plans
deny contains change.address if {
  some change in input.plan.resource_changes
  change.type == "bucket"
  change.change.after.copies < ${n % 2}
}`,
    }),
  )
}

function asked({
  query = 'data.jobs.deny',
  ...policy
}: Partial<PolicyDefinition>): PolicyInvocation {
  const { name = '', kind = 'native', code = '' } = policy
  return { policy: { name, kind, code, query: kind === 'opa' ? query : null }, params: {} }
}

/** The common RBAC sample for comparing engines: is alice allowed by her roles? */
export const ROLES: PolicyInvocation = asked({
  kind: 'opa',
  name: 'roles',
  query: 'data.roles.deny',
  code: `package roles
user_roles := {"alice": ["engineering", "webdev"], "bob": ["hr"]}
role_permissions := {
  "engineering": [{"action": "read", "object": "server123"}],
  "webdev": [
    {"action": "read", "object": "server123"},
    {"action": "write", "object": "server123"},
  ],
  "hr": [{"action": "read", "object": "database456"}],
}
default allow := false
allow if {
  some role in user_roles[input.job.User]
  some permission in role_permissions[role]
  permission == {"action": input.job.Action, "object": input.job.Object}
}
deny contains "not allowed" if not allow`,
})

/** A plan with this number of creations. */
export function aPlan(changes: number): PlanInput {
  const resource_changes = Array.from({ length: changes }, (_, at): JsonObject => ({
    address: `bucket.b${at}`,
    mode: 'managed',
    type: at % 2 === 0 ? 'bucket' : 'queue',
    name: `b${at}`,
    provider_name: 'example/cloud',
    change: {
      actions: ['create'],
      before: null,
      after: { name: `b${at}`, copies: 3, tags: { team: 'shop', cost: 'low' }, encrypted: true },
      after_unknown: { id: true },
      before_sensitive: false,
      after_sensitive: {},
    },
  }))
  return { kind: 'plan', plan: { format_version: '1.2', resource_changes }, run: {} }
}
