import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// One entry with a fixed name, which the template links; everything else is named after its content.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../../static/canvas",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      input: "src/main.tsx",
      output: {
        entryFileNames: "editor.js",
        chunkFileNames: "[name]-[hash].js",
        assetFileNames: (asset) => (asset.names[0] === "main.css" ? "editor.css" : "[name]-[hash][extname]"),
      },
    },
  },
});
