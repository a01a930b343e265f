import type { FlagSpec, CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError, UsageError } from '../failure.ts'

export const ORGANIZATION_FLAG: FlagSpec = {
  usage: '--organization <NAME>',
  help: 'the organization (REEVE_ORGANIZATION); optional if there is only one',
}

/** Path parameters of organization routes. */
export interface OrganizationParams {
  readonly organization_name: string
}

/** Resolves the organization from flag or environment, or the only one that the token may see. */
export async function resolveOrganization(invocation: CommandContext): Promise<OrganizationParams> {
  const { client, flags, host } = invocation
  const named = flags.string('organization') || host.environment['REEVE_ORGANIZATION']
  if (named) return { organization_name: named }
  const { data } = await client.v2.listOrganizations()
  const [only, ...others] = data.data
  if (only === undefined) {
    throw new CommandError('There is no organization yet, or none that this token may see.', {
      code: EXIT_CODES.missing,
      hint: 'Make one with "reeve org create NAME --email you@example.com".',
    })
  }
  if (others.length === 0) return { organization_name: only.id }
  const names = data.data.map(({ id }) => id).join(', ')
  throw new UsageError(`Name the organization with --organization: there are ${names}.`)
}
