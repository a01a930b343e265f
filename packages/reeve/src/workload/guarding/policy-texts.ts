import { LruCache } from '@reeve/kit/lru-cache.ts'
import { LIMITS } from '../../model/index.ts'
import type { PolicyText } from '../../policy/index.ts'
import type { GuardingPolicy, PolicySource } from './policy-source.ts'

/** Other systems put their own name before `_var`; see `policy/native-data.ts`. */
const VARIABLE_IMPORT = /\b[a-z]+_var\b/

/** The code of a policy, as it is asked. */
export interface KnownText {
  readonly text: PolicyText
  /** Whether it may ask for variables; they are gathered only then. */
  readonly readsVariables: boolean
}

/**
 * Caches the code of policies. An entry never goes stale, since a hash names its text.
 */
export class PolicyTexts {
  readonly #source: Pick<PolicySource, 'readCode'>
  readonly #cache = new LruCache<string, KnownText>({
    weightMax: LIMITS.policyTextCharsMax,
    countMax: LIMITS.policyTextsMax,
    weigh: (_, { text }) => text.code.length,
  })

  constructor(source: Pick<PolicySource, 'readCode'>) {
    this.#source = source
  }

  /** Undefined when the code is not stored any more. */
  async find(policy: GuardingPolicy): Promise<KnownText | undefined> {
    const { codeHash, kind, name, query } = policy
    const key = JSON.stringify([codeHash, kind, name, query])
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const code = await this.#source.readCode(codeHash)
    if (code === undefined) return undefined
    const readsVariables = kind === 'native' && VARIABLE_IMPORT.test(code)
    const found: KnownText = { text: { name, kind, query, code }, readsVariables }
    this.#cache.set(key, found)
    return found
  }
}
