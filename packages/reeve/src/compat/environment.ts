import type { CommandLineAliases } from './aliases.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The environment of a command with the variables of other programs translated to Reeve's. A token
 * that is meant for one server must not be sent to another, so the variables of one program are
 * used together, and only if `REEVE_ADDR` is not set.
 */
export function translatedEnvironment(
  { address, environments }: CommandLineAliases,
  given: Environment,
): Environment {
  if (isSet(given[address])) return given
  const sets = environments.filter((names) => Object.keys(names).some((name) => isSet(given[name])))
  const chosen = sets.find((names) => isSet(given[nameOf(names, address)])) ?? sets[0]
  if (chosen === undefined) return given
  const translated: Record<string, string | undefined> = { ...given }
  for (const [other, own] of Object.entries(chosen))
    if (!isSet(translated[own]) && isSet(given[other])) translated[own] = given[other]
  return translated
}

function nameOf(names: Readonly<Record<string, string>>, own: string): string {
  return Object.keys(names).find((other) => names[other] === own) ?? own
}

/** An empty variable counts as unset. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
