import type { CommandLineAliases } from './aliases.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Translates the environment variables of other programs to Reeve's. A token meant for one server
 * must not be sent to another, so only the variables of one program are used, and only if
 * `REEVE_ADDR` is not set.
 */
export function translateEnvironment(
  { address, environments }: CommandLineAliases,
  environment: Environment,
): Environment {
  if (isSet(environment[address])) return environment
  const programs = environments.filter((names) =>
    Object.keys(names).some((name) => isSet(environment[name])),
  )
  const chosen =
    programs.find((names) => isSet(environment[aliasOf(names, address)])) ?? programs[0]
  if (chosen === undefined) return environment
  const translated: Record<string, string | undefined> = { ...environment }
  for (const [alias, name] of Object.entries(chosen))
    if (!isSet(translated[name]) && isSet(environment[alias])) translated[name] = environment[alias]
  return translated
}

function aliasOf(names: Readonly<Record<string, string>>, name: string): string {
  return Object.keys(names).find((alias) => names[alias] === name) ?? name
}

/** An empty variable counts as unset. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
