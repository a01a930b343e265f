import type { AclToken } from '@reeve/contract'
import { compileGrants, MANAGEMENT_GRANTS, type Grants } from './grants.ts'
import type { AclRules } from './rules.ts'

/** Fields of a token that define its permissions. */
type TokenPermissions = Pick<AclToken, 'Type' | 'Policies'> & {
  readonly Roles: readonly { readonly ID: string }[] | null
}

/** Lookup of policies and roles. Missing ones grant nothing. */
interface GrantLookups {
  policyRules(name: string): AclRules | undefined
  /** Names of a role's policies, by the role's id. */
  rolePolicies(id: string): readonly string[] | undefined
}

/** Returns the combined permissions of a token's own policies and those of its roles. */
export function resolveGrants(token: TokenPermissions, lookups: GrantLookups): Grants {
  if (token.Type === 'management') return MANAGEMENT_GRANTS
  const documents: AclRules[] = []
  for (const name of policyNamesOf(token, lookups)) {
    const rules = lookups.policyRules(name)
    if (rules !== undefined) documents.push(rules)
  }
  return compileGrants(documents)
}

/** Returns the names of a token's policies, its own and those of its roles, each once. */
export function policyNamesOf(
  token: Omit<TokenPermissions, 'Type'>,
  lookups: Pick<GrantLookups, 'rolePolicies'>,
): ReadonlySet<string> {
  const names = new Set(token.Policies ?? [])
  for (const { ID } of token.Roles ?? [])
    for (const name of lookups.rolePolicies(ID) ?? []) names.add(name)
  return names
}
