import type { CommandLineAliases } from './aliases.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The environment of a command with our names for what other programs call otherwise. Address and
 * secrets belong together: a token that is meant for one server must not be sent to another. So a
 * set of other names is read only as a whole, and only where ours name no server.
 */
export function knownEnvironment(
  { address, environments }: CommandLineAliases,
  given: Environment,
): Environment {
  if (isSet(given[address])) return given
  const sets = environments.filter((names) => Object.keys(names).some((name) => isSet(given[name])))
  const chosen = sets.find((names) => isSet(given[nameOf(names, address)])) ?? sets[0]
  if (chosen === undefined) return given
  const known: Record<string, string | undefined> = { ...given }
  for (const [other, own] of Object.entries(chosen))
    if (!isSet(known[own]) && isSet(given[other])) known[own] = given[other]
  return known
}

function nameOf(names: Readonly<Record<string, string>>, own: string): string {
  return Object.keys(names).find((other) => names[other] === own) ?? own
}

/** An empty variable is as good as none. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
