import { repositoryOf, type Repository } from './repository.ts'

/** A repository made of texts, for the tests of the tools. */
export function repositoryFrom(files: Readonly<Record<string, string>>): Repository {
  return repositoryOf(Object.keys(files), (path) => files[path] ?? '')
}
