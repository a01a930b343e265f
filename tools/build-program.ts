/**
 * `node tools/build-program.ts`: bundles the program, which the set-up does by itself, and prints
 * where it is; an earlier one where nothing has changed since.
 */
import { stripVTControlCharacters } from 'node:util'
import { findBundle } from './setup/program.cjs'
import { REPOSITORY_ROOT } from './source/run.ts'

try {
  console.log(findBundle(REPOSITORY_ROOT) ?? (await bundle()))
} catch (thrown) {
  // A source that does not parse, mostly: the sentence says where, the stack only speaks of us. The
  // bundler colours it, whoever reads it.
  const sentence = thrown instanceof Error ? thrown.message : String(thrown)
  console.error(stripVTControlCharacters(sentence))
  process.exitCode = 1
}

/** The bundler alone takes longer to load than the question above. */
async function bundle(): Promise<string> {
  const { bundleProgram } = await import('./program/bundle.ts')
  return await bundleProgram(REPOSITORY_ROOT)
}
