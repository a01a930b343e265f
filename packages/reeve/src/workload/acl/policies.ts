import type { AclPolicyRecord, AclPolicyRequest, JobAcl } from '@reeve/contract'
import { policyHash, policyNamesOf, validatePolicy, type Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { put, remove, type Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { ANONYMOUS } from './token-view.ts'

/** Creates or replaces a policy. Tokens that reference it get its permissions immediately. */
export async function writePolicy(
  { store, ruleAliases }: WorkloadContext,
  { by }: Author,
  request: AclPolicyRequest,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const policy = {
    Name: request.Name ?? '',
    Description: request.Description ?? '',
    Rules: request.Rules ?? '',
    JobACL: jobAclOf(request.JobACL),
  }
  const problem = validatePolicy(policy, ruleAliases)
  if (problem !== undefined) return err(refusal('invalid-input', problem))
  const row: AclPolicyRecord = {
    ...policy,
    Hash: policyHash(policy),
    CreateIndex: 0,
    ModifyIndex: 0,
  }
  const { index, durable } = store.commit({
    by,
    cause: 'ACLPolicyUpserted',
    changes: () => [put('acl_policies', row)],
  })
  await durable
  return ok({ index })
}

function jobAclOf(input: AclPolicyRequest['JobACL']): JobAcl | null {
  if (input === undefined || input === null) return null
  return {
    Namespace: input.Namespace ?? '',
    JobID: input.JobID ?? '',
    Group: input.Group ?? '',
    Task: input.Task ?? '',
  }
}

/** Deletes a policy; an unknown name succeeds. */
export async function deletePolicy(
  { store }: WorkloadContext,
  { by }: Author,
  name: string,
): Promise<{ readonly index: number }> {
  const { index, durable } = store.commit({
    by,
    cause: 'ACLPolicyDeleted',
    changes: () => (store.tables.acl_policies.has(name) ? [remove('acl_policies', name)] : []),
  })
  await durable
  return { index }
}

/** Returns the names of the policies of the caller's token, assigned directly or by roles. */
export function policyNamesOfCaller(
  { store }: WorkloadContext,
  caller: Caller,
): ReadonlySet<string> {
  const { acl_roles, acl_tokens } = store.tables
  if (caller.type === 'anonymous') return new Set([ANONYMOUS])
  const token = acl_tokens.find(caller.accessorId)
  if (token === undefined) return new Set()
  return policyNamesOf(token, {
    rolePolicies: (id) => acl_roles.find(id)?.Policies.map((link) => link.Name),
  })
}

/** Returns the filter of policy lists: all policies for management, else the caller's own. */
export function visiblePolicies(
  context: WorkloadContext,
  caller: Caller,
): (name: string) => boolean {
  if (caller.grants.isManagement) return () => true
  const ownNames = policyNamesOfCaller(context, caller)
  return (name) => ownNames.has(name)
}

/**
 * Reports whether the caller may read a policy: its own ones, and the anonymous one, which applies
 * to every caller.
 */
export function mayReadPolicy(context: WorkloadContext, caller: Caller, name: string): boolean {
  return name === ANONYMOUS || visiblePolicies(context, caller)(name)
}
