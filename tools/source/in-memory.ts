import { repositoryOf, type Repository } from './repository.ts'

/** An in-memory repository, for tests of the tools. */
export function createMemoryRepository(files: Readonly<Record<string, string>>): Repository {
  return repositoryOf(Object.keys(files), (path) => files[path] ?? '')
}
