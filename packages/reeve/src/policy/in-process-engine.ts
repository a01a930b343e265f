import { LruCache } from '@reeve/kit/lru-cache.ts'
import type { Result } from '@reeve/kit/result.ts'
import { COMPILED_CHARS_MAX, COMPILED_POLICIES_MAX } from './limits.ts'
import { compileNativePolicy, evaluateNativePolicy, type CompiledNativePolicy } from './native.ts'
import { compileRegoPolicy, evaluateRegoPolicy, type CompiledRegoPolicy } from './rego.ts'
import type {
  PolicyInvocation,
  EvaluationContext,
  Diagnostic,
  PolicyResult,
  EngineOptions,
  PolicyDefinition,
} from './engine.ts'
import { NativeInput } from './native-input.ts'
import type { PolicyInput } from './policy-input.ts'

type CachedPolicy =
  | {
      readonly kind: 'native'
      readonly policy: Result<CompiledNativePolicy, readonly Diagnostic[]>
    }
  | { readonly kind: 'opa'; readonly policy: Result<CompiledRegoPolicy, readonly Diagnostic[]> }

/**
 * Compiles and evaluates policies in this thread, with a cache of compiled policies. It knows
 * neither enforcement levels nor overrides.
 */
export class InProcessEngine {
  /** Compiled policies by kind, query, name and code. */
  readonly #compiled = new LruCache<string, CachedPolicy>({
    weightMax: COMPILED_CHARS_MAX,
    countMax: COMPILED_POLICIES_MAX,
    weigh: (key) => key.length,
  })

  /** Returns the diagnostics of a policy's code: warnings if it compiles, otherwise the errors. */
  diagnose(policy: PolicyDefinition): readonly Diagnostic[] {
    const { policy: compiled } = this.#compile(policy)
    return compiled.ok ? compiled.value.warnings : compiled.error
  }

  /** Evaluates several policies for one input; the views of the input are created once. */
  evaluate(
    input: PolicyInput,
    policies: readonly PolicyInvocation[],
    options: EngineOptions,
  ): PolicyResult[] {
    const nativeInput = new NativeInput(input, options)
    return policies.map((invocation) =>
      this.#evaluateOne(invocation, { input, nativeInput, options }),
    )
  }

  #evaluateOne({ policy, params }: PolicyInvocation, evaluation: EvaluationContext): PolicyResult {
    const compiled = this.#compile(policy)
    if (!compiled.policy.ok) return compileFailure(compiled.policy.error)
    if (compiled.kind === 'opa')
      return evaluateRegoPolicy(compiled.policy.value, { policy, params }, evaluation)
    evaluation.nativeInput.reset()
    return evaluateNativePolicy(compiled.policy.value, { policy, params }, evaluation)
  }

  #compile(policy: PolicyDefinition): CachedPolicy {
    const key = `${policy.kind}\n${policy.query ?? ''}\n${policy.name}\n${policy.code}`
    const cached = this.#compiled.get(key)
    if (cached !== undefined) return cached
    // Room is made before compilation, which needs the most memory.
    this.#compiled.evictFor(key.length)
    const compiled: CachedPolicy =
      policy.kind === 'native'
        ? { kind: 'native', policy: compileNativePolicy(policy) }
        : { kind: 'opa', policy: compileRegoPolicy(policy) }
    this.#compiled.set(key, compiled)
    return compiled
  }
}

/** Returns an errored result with the diagnostics: a policy that does not compile fails closed. */
function compileFailure(diagnostics: readonly Diagnostic[]): PolicyResult {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  return {
    status: 'errored',
    output: [],
    findings: errors.map(({ message, line, column }) => ({ rule: null, line, column, message })),
  }
}
