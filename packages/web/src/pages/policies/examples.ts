import type { v2 } from '@reeve/contract'

export const QUERY_EXAMPLE = 'data.policy.deny'

/** Initial code of new policies: a working example. */
export const CODE_EXAMPLES: Readonly<Record<v2.PolicyKind, string>> = {
  native: `# No group of a job asks for more than three instances.
few = rule {
  all job.task_groups as group { group.count <= 3 }
}

main = rule { few }
`,
  opa: `package policy

import rego.v1

deny contains message if {
  some group in input.job.TaskGroups
  group.Count > 3
  message := sprintf("the group %s asks for %d instances", [group.Name, group.Count])
}
`,
}

/** Initial input of a trial. */
export const INPUT_EXAMPLE = `{
  "job": {
    "ID": "web",
    "TaskGroups": [{ "Name": "web", "Count": 9 }]
  },
  "namespace": "default"
}
`
