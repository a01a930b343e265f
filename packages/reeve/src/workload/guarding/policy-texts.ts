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
 * Keeps the code of policies at hand. It never goes stale, since a hash names its text; the one
 * that was not used for longest goes first.
 */
export class PolicyTexts {
  readonly #source: Pick<PolicySource, 'readCode'>
  readonly #known = new Map<string, KnownText>()
  #chars = 0

  constructor(source: Pick<PolicySource, 'readCode'>) {
    this.#source = source
  }

  /** Undefined when the code is not stored any more. */
  async find(policy: GuardingPolicy): Promise<KnownText | undefined> {
    const { codeHash, kind, name, query } = policy
    const key = JSON.stringify([codeHash, kind, name, query])
    const known = this.#known.get(key)
    if (known !== undefined) {
      this.#known.delete(key)
      this.#known.set(key, known)
      return known
    }
    const code = await this.#source.readCode(codeHash)
    if (code === undefined) return undefined
    const readsVariables = kind === 'native' && VARIABLE_IMPORT.test(code)
    const found: KnownText = { text: { name, kind, query, code }, readsVariables }
    this.#keep(key, found)
    return found
  }

  #keep(key: string, found: KnownText): void {
    // Two requests may have read it at once.
    this.#drop(key)
    this.#known.set(key, found)
    this.#chars += found.text.code.length
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= LIMITS.policyTextsMax && this.#chars <= LIMITS.policyTextCharsMax)
        return
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#chars -= this.#known.get(key)?.text.code.length ?? 0
    this.#known.delete(key)
  }
}
