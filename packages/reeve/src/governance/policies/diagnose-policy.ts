import type { AskingOrigin, Diagnostic, PolicyAsker, PolicyText } from '../../policy/index.ts'

/** Of what an engine finds so much is kept with a policy. */
const DIAGNOSTICS_MAX = 50

const EMPTY: Diagnostic = {
  severity: 'warning',
  message: 'the policy is empty',
  line: 1,
  column: 1,
}

/** What the engine of a policy's kind says of its code. */
export async function diagnosePolicy(
  { policyAsker }: { readonly policyAsker: Pick<PolicyAsker, 'diagnose'> },
  { name, kind, query, code }: PolicyText,
  origin: AskingOrigin,
): Promise<readonly Diagnostic[]> {
  // Stored with a warning, and `errored` when it is asked.
  if (code.trim() === '') return [EMPTY]
  const found = await policyAsker.diagnose({ name, kind, query, code }, origin)
  return found.slice(0, DIAGNOSTICS_MAX)
}
