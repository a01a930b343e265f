import type { AclPolicyRecord } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { renderNonEmptyFields, renderTable } from '../output/format.ts'
import { readTextFile } from '../input.ts'
import { undefinedIfNotFound } from '../resolve.ts'

export async function runAclPolicyList({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listAclPolicies()
  output.print(data, () => {
    if (data.length === 0) return 'There are no policies that the token may read.'
    const rows = data.map(({ Name, Description }) => [Name, Description])
    return renderTable(['Name', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

export async function runAclPolicyRead({ args, client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.readAclPolicy({ params: { policy_name: args[0] ?? '' } })
  output.print(data, () => policyText(data))
  return EXIT_CODES.ok
}

export async function runAclPolicySelf({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listOwnAclPolicies()
  output.print(data, () =>
    data.length === 0
      ? 'The token has no policies: a management token has full access.'
      : data.map(policyText).join('\n'),
  )
  return EXIT_CODES.ok
}

function policyText({ Name, Description, JobACL, Rules }: AclPolicyRecord): string {
  const workload =
    JobACL === null
      ? ''
      : [JobACL.Namespace, JobACL.JobID, JobACL.Group, JobACL.Task]
          .filter((part) => part !== '')
          .join(' / ')
  const about = renderNonEmptyFields([
    ['Name', Name],
    ['Description', Description],
    ['Workload', workload],
  ])
  return `${about}\nRules\n${Rules.trim()}\n`
}

export async function runAclPolicyApply(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const [Name = '', path = ''] = args
  const Rules = await readTextFile(invocation, path)
  const params = { policy_name: Name }
  const known = await undefinedIfNotFound(() => client.v1.readAclPolicy({ params }))
  const Description = flags.string('description') ?? known?.data.Description ?? ''
  const JobACL = workloadOf(invocation) ?? known?.data.JobACL ?? null
  await client.v1.writeAclPolicy({ params, body: { Name, Description, Rules, JobACL } })
  output.printLine(`Policy "${Name}" is stored.`)
  return EXIT_CODES.ok
}

/** The workload whose identity has the policy. */
function workloadOf({ flags, settings }: CommandContext) {
  const JobID = flags.string('job')
  if (JobID === undefined) return undefined
  const Group = flags.string('group') ?? ''
  const Task = flags.string('task') ?? ''
  return { Namespace: settings.namespace ?? 'default', JobID, Group, Task }
}

export async function runAclPolicyDelete({
  args,
  client,
  output,
}: CommandContext): Promise<number> {
  const name = args[0] ?? ''
  // The API accepts the deletion of a missing policy; the read reports a mistyped name.
  await client.v1.readAclPolicy({ params: { policy_name: name } })
  await client.v1.deleteAclPolicy({ params: { policy_name: name } })
  output.printLine(`Policy "${name}" is deleted.`)
  return EXIT_CODES.ok
}
