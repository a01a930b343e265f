/** Paths as texts, with `/` between names; no file system is asked. */

/** The last name: `.` for an empty path, `/` for the root. */
export function baseName(path: string): string {
  if (path === '') return '.'
  return path.split('/').findLast((name) => name !== '') ?? '/'
}

/** Everything but the last name, cleaned. */
export function directoryName(path: string): string {
  return cleanPath(path.slice(0, path.lastIndexOf('/') + 1))
}

/** Without empty names, `.` and the `..` that can be worked out; `.` when nothing is left. */
export function cleanPath(path: string): string {
  const root = path.startsWith('/') ? '/' : ''
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.length > 0 && names.at(-1) !== '..') names.pop()
    else if (root === '') names.push(name)
  }
  return root + names.join('/') || '.'
}

export function joinPath(directory: string, path: string): string {
  return cleanPath(`${directory}/${path}`)
}
