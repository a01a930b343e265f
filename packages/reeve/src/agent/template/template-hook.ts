import type { Catalog } from '../catalog.ts'
import type { TaskHook, TaskHookContext } from '../task/task-hook.ts'
import { runScript } from './change-actions.ts'
import { TemplateManager } from './template-manager.ts'
import type { TemplateRenderer } from './template-renderer.ts'

/** Renders the templates of a task before each start, and keeps them true while it runs. */
export function templateHook(
  catalogOf: (context: TaskHookContext) => Catalog | undefined,
  renderer: TemplateRenderer,
): () => TaskHook {
  return () => {
    let manager: TemplateManager | undefined
    let isStarted = false
    return {
      name: 'templates',
      once: false,
      applies: ({ task }) => (task.Templates ?? []).length > 0,
      async beforeStart(context) {
        // Anew for each start: the task may have been changed since.
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
          // Not waited for: the task runs, and a script may take its time.
          if (ChangeMode === 'script' && script?.RunOnFirstRender === true) {
            void runScript(script, context)
          }
        }
      },
      close: () => manager?.close(),
    }
  }
}
