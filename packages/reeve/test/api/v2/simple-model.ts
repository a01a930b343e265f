/**
 * The projects and policies API written as simply as possible: maps, and a rule for each operation.
 * The property test compares the server with it.
 */

export type Level = 'read' | 'write' | 'maintain' | 'admin'

/** `owner`: the site administrator. `maker`: a team with Manage projects. `guest`: by project. */
export type Who = 'owner' | 'maker' | 'guest'

interface ModelProject {
  name: string
  readonly tags: Map<string, string>
  readonly workspaces: Set<string>
  readonly isDefault: boolean
  /** What the guest's team may do. */
  level: Level | undefined
}

const TAGS_MAX = 10
const LEVELS: readonly Level[] = ['read', 'write', 'maintain', 'admin']

/** Answers every operation with the status that the server must give. */
export class SimpleModel {
  readonly projects = new Map<string, ModelProject>()

  constructor(defaultProject: string) {
    this.add(defaultProject, 'Default Project', true)
  }

  add(id: string, name: string, isDefault = false): void {
    const tags = new Map<string, string>()
    this.projects.set(id, { name, tags, workspaces: new Set(), isDefault, level: undefined })
  }

  /** Has the caller this level on the project, or more? Makers and owners have all of them. */
  holds(who: Who, id: string, least: Level): boolean {
    const project = this.projects.get(id)
    if (project === undefined) return false
    if (who !== 'guest') return true
    const { level } = project
    return level !== undefined && LEVELS.indexOf(level) >= LEVELS.indexOf(least)
  }

  createProject(who: Who, name: string): number {
    if (who === 'guest') return 404
    return this.#isTaken(name) ? 422 : 201
  }

  rename(who: Who, id: string, name: string): number {
    if (!this.holds(who, id, 'admin')) return 404
    if (this.#isTaken(name, id)) return 422
    const project = this.#get(id)
    project.name = name
    return 200
  }

  delete(who: Who, id: string): number {
    if (!this.holds(who, id, 'admin')) return 404
    const { isDefault, workspaces } = this.#get(id)
    if (isDefault || workspaces.size > 0) return 422
    this.projects.delete(id)
    return 204
  }

  addTags(who: Who, id: string, tags: ReadonlyMap<string, string>): number {
    if (!this.holds(who, id, 'write')) return 404
    const merged = new Map([...this.#get(id).tags, ...tags])
    return this.#setTags(id, merged)
  }

  replaceTags(who: Who, id: string, tags: ReadonlyMap<string, string>): number {
    return this.holds(who, id, 'admin') ? this.#setTags(id, tags) : 404
  }

  #setTags(id: string, tags: ReadonlyMap<string, string>): number {
    if (tags.size > TAGS_MAX) return 422
    const own = this.#get(id).tags
    own.clear()
    for (const [key, value] of tags) own.set(key, value)
    return 200
  }

  /** All of them, or none. */
  move(who: Who, destination: string, workspaces: readonly string[]): number {
    if (!this.holds(who, destination, 'admin')) return 404
    const sources = workspaces.map((id) => this.projectOf(id))
    const mayLeave = sources.every((id) => id !== undefined && this.holds(who, id, 'admin'))
    if (!mayLeave) return 403
    for (const id of workspaces) {
      this.#get(this.projectOf(id) ?? '').workspaces.delete(id)
      this.#get(destination).workspaces.add(id)
    }
    return 204
  }

  grant(id: string, level: Level | undefined): void {
    this.#get(id).level = level
  }

  projectOf(workspace: string): string | undefined {
    for (const [id, { workspaces }] of this.projects) if (workspaces.has(workspace)) return id
    return undefined
  }

  /** Names that a list shows, in order. */
  listed(who: Who): readonly string[] {
    const seen = [...this.projects].filter(([id]) => this.holds(who, id, 'read'))
    return seen.map(([, { name }]) => name).toSorted()
  }

  #isTaken(name: string, except?: string): boolean {
    const folded = name.toLowerCase()
    return [...this.projects].some(
      ([id, project]) => id !== except && project.name.toLowerCase() === folded,
    )
  }

  #get(id: string): ModelProject {
    const project = this.projects.get(id)
    if (project === undefined) throw new Error(`the model has no project ${id}`)
    return project
  }
}
