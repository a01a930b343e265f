import type { ServiceCatalog } from '../catalog.ts'
import type { TaskHook, TaskHookContext } from '../task/task-hook.ts'
import { runScript } from './change-actions.ts'
import { TemplateManager } from './template-manager.ts'
import type { TemplateRenderer } from './template-renderer.ts'

/** Renders the templates of a task before each start, and again when a dependency changes. */
export function newTemplateHook(
  catalogOf: (context: TaskHookContext) => ServiceCatalog | undefined,
  renderer: TemplateRenderer,
): () => TaskHook {
  return () => {
    let manager: TemplateManager | undefined
    let isStarted = false
    return {
      name: 'templates',
      runsOnce: false,
      applies: ({ task }) => (task.Templates ?? []).length > 0,
      async beforeStart(context) {
        // Created for each start: the task may have been updated.
        manager?.close()
        manager = new TemplateManager(context, catalogOf(context), renderer)
        return { env: await manager.renderInitial(context.signal) }
      },
      async afterStart(context) {
        if (manager === undefined) {
          manager = new TemplateManager(context, catalogOf(context), renderer)
          await manager.resume()
          isStarted = true
        }
        manager.watch()
        if (isStarted) return
        isStarted = true
        for (const { ChangeMode, ChangeScript: script } of context.task.Templates ?? []) {
          // Not awaited: the task is running, and a script may take time.
          if (ChangeMode === 'script' && script?.RunOnFirstRender === true) {
            void runScript(script, context)
          }
        }
      },
      close: () => manager?.close(),
    }
  }
}
