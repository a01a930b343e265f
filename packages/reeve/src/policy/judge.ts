import { LruCache } from '@reeve/kit/lru-cache.ts'
import type { Result } from '@reeve/kit/result.ts'
import { COMPILED_CHARS_MAX, COMPILED_POLICIES_MAX } from './limits.ts'
import { compileNative, judgeNative, type NativePolicy } from './judge-native.ts'
import { compileOpa, judgeOpa, type OpaPolicy } from './judge-opa.ts'
import type {
  AskedPolicy,
  Asking,
  Diagnostic,
  Judgement,
  JudgeOptions,
  PolicyText,
} from './judgement.ts'
import { NativeData } from './native-data.ts'
import type { Subject } from './subject.ts'

type Compiled =
  | { readonly kind: 'native'; readonly policy: Result<NativePolicy, readonly Diagnostic[]> }
  | { readonly kind: 'opa'; readonly policy: Result<OpaPolicy, readonly Diagnostic[]> }

/** Compiles policies, keeps what it compiled, and asks them. Knows neither levels nor overrides. */
export class Judge {
  /** By kind, query, name and code. */
  readonly #compiled = new LruCache<string, Compiled>({
    weightMax: COMPILED_CHARS_MAX,
    countMax: COMPILED_POLICIES_MAX,
    weigh: (key) => key.length,
  })

  /** What is wrong with a policy's code; empty when it can be evaluated. */
  diagnose(policy: PolicyText): readonly Diagnostic[] {
    const { policy: compiled } = this.#compile(policy)
    return compiled.ok ? compiled.value.warnings : compiled.error
  }

  /** Asks several policies about one subject; views of it are made once. */
  judge(subject: Subject, policies: readonly AskedPolicy[], options: JudgeOptions): Judgement[] {
    const data = new NativeData(subject, options)
    return policies.map((asked) => this.#judgeOne(asked, { subject, data, options }))
  }

  #judgeOne({ policy, params }: AskedPolicy, asking: Asking): Judgement {
    const compiled = this.#compile(policy)
    if (!compiled.policy.ok) return uncompiled(compiled.policy.error)
    if (compiled.kind === 'opa') return judgeOpa(compiled.policy.value, { policy, params }, asking)
    asking.data.reset()
    return judgeNative(compiled.policy.value, { policy, params }, asking)
  }

  #compile(policy: PolicyText): Compiled {
    const key = `${policy.kind}\n${policy.query ?? ''}\n${policy.name}\n${policy.code}`
    const cached = this.#compiled.get(key)
    if (cached !== undefined) return cached
    // Before it is compiled, which takes the most memory.
    this.#compiled.evictFor(key.length)
    const made: Compiled =
      policy.kind === 'native'
        ? { kind: 'native', policy: compileNative(policy) }
        : { kind: 'opa', policy: compileOpa(policy) }
    this.#compiled.set(key, made)
    return made
  }
}

/** Fails closed, with the reason. */
function uncompiled(diagnostics: readonly Diagnostic[]): Judgement {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  return {
    status: 'errored',
    output: [],
    findings: errors.map(({ message, line, column }) => ({ rule: null, line, column, message })),
  }
}
