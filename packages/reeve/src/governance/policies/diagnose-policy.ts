import type {
  EvaluationOrigin,
  Diagnostic,
  PolicyEngine,
  PolicyDefinition,
} from '../../policy/index.ts'

/** Diagnostics that are stored with a policy. */
const DIAGNOSTICS_MAX = 50

const EMPTY_POLICY_WARNING: Diagnostic = {
  severity: 'warning',
  message: 'the policy is empty',
  line: 1,
  column: 1,
}

/** Compiles the code of a policy and returns its diagnostics. */
export async function diagnosePolicy(
  { policyEngine }: { readonly policyEngine: Pick<PolicyEngine, 'diagnose'> },
  { name, kind, query, code }: PolicyDefinition,
  origin: EvaluationOrigin,
): Promise<readonly Diagnostic[]> {
  // Empty code is stored with a warning; its evaluation is `errored`.
  if (code.trim() === '') return [EMPTY_POLICY_WARNING]
  const diagnostics = await policyEngine.diagnose({ name, kind, query, code }, origin)
  return diagnostics.slice(0, DIAGNOSTICS_MAX)
}
