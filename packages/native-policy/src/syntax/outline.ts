import { err, ok, type Result } from '@reeve/kit/result.ts'
import { childExpressions, isBlock, childNodes } from '../check/children.ts'
import { parseHcl } from './parse.ts'
import { Source, NativeSyntaxError, type NativeDiagnostic, type Position } from './source.ts'
import type { Expression, Statement } from './tree.ts'

/** All statements and rules that an evaluation can cover. */
export interface CoverageTargets {
  readonly statements: readonly Position[]
  readonly rules: readonly Position[]
}

export function findCoverageTargets(
  file: string,
  text: string,
): Result<CoverageTargets, NativeDiagnostic> {
  const source = new Source(file, text)
  try {
    const { statements } = parseHcl(source)
    const found = new Collector(source)
    found.block(statements)
    return ok(found)
  } catch (thrown) {
    if (thrown instanceof NativeSyntaxError) return err(thrown.problem)
    throw thrown
  }
}

class Collector implements CoverageTargets {
  readonly statements: Position[] = []
  readonly rules: Position[] = []
  readonly #source: Source

  constructor(source: Source) {
    this.#source = source
  }

  block(statements: readonly Statement[]): void {
    for (const statement of statements) {
      this.statements.push(this.#source.positionAt(statement.spot.start))
      for (const part of childNodes(statement))
        if (isBlock(part)) this.block(part)
        else this.#expression(part)
    }
  }

  #expression(node: Expression): void {
    if (node.kind === 'rule') this.rules.push(this.#source.positionAt(node.spot.start))
    if (node.kind === 'function') return this.block(node.body)
    for (const child of childExpressions(node)) this.#expression(child)
  }
}
