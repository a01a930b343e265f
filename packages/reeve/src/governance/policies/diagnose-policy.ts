import type { AskingOrigin, Diagnostic, PolicyAsker, PolicyText } from '../../policy/index.ts'

/** Diagnostics that are stored with a policy. */
const DIAGNOSTICS_MAX = 50

const EMPTY: Diagnostic = {
  severity: 'warning',
  message: 'the policy is empty',
  line: 1,
  column: 1,
}

/** Compiles the code of a policy and returns its diagnostics. */
export async function diagnosePolicy(
  { policyAsker }: { readonly policyAsker: Pick<PolicyAsker, 'diagnose'> },
  { name, kind, query, code }: PolicyText,
  origin: AskingOrigin,
): Promise<readonly Diagnostic[]> {
  // Empty code is stored with a warning; its evaluation is `errored`.
  if (code.trim() === '') return [EMPTY]
  const found = await policyAsker.diagnose({ name, kind, query, code }, origin)
  return found.slice(0, DIAGNOSTICS_MAX)
}
